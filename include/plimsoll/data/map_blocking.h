#pragma once

#include <functional>

#include <plimsoll/data/dataset.h>

namespace plimsoll::data {

/// Makes several calls in a row in one thread, which `calls` does, within something that they have
/// in common: the lock of an interpreter, a connection. Runs on any thread, several at a time.
using CallsWithin = std::function<void(const std::function<void()>& calls)>;

/// dataset.map(function, options) for a function that may wait for something outside the pipeline:
/// a server, a lock, an interpreter. Its calls run in threads of their own, options.parallel at a
/// time and a few elements ahead of the consumer, and the pipeline's threads stay free for other
/// stages. More of them than the machine has cores pays where they wait. Short calls that run one
/// at a time go to their thread several at once, `within` what they share. Elements, their order,
/// errors and memory are as with map(); so is the signature.
Dataset map_blocking(const Dataset& dataset, MapFunction function, const MapOptions& options = {},
                     CallsWithin within = nullptr);

}  // namespace plimsoll::data
