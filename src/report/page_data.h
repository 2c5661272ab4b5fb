#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <plimsoll/report/html.h>
#include <plimsoll/report/run.h>

namespace plimsoll::report {

// What a page is drawn from: runs as one JSON object, with as many points as a screen can show.

/// The places, in order, of at most about `most` samples that tell the same story: of each stretch
/// the one that used most, the one that used least, the one that the system counted most for, and
/// every one at which the limit moved. The largest `used` and `system` are always among them.
std::vector<std::size_t> thinned(const std::vector<RunMemory>& memory, std::size_t most);

/// At most `most` lines for all steps: neighbours are merged as a long log merges them, so that the
/// smallest and the largest loss and the largest `used` stay.
std::vector<RunStep> thinned(const std::vector<RunStep>& steps, std::size_t most);

struct PageDataOptions {
  bool live = false;  ///< the page asks for more
  bool thin = true;   ///< else everything, however much it is
};
/// The object. It is safe inside a <script> element: no "<", no line separators of JavaScript.
std::string page_data(std::span<const Run> runs, const PageDataOptions& options = {});

/// The page of such an object; `name` is its title where the options have none.
std::string html_around(const std::string& data, const std::string& name,
                        const HtmlOptions& options);

}  // namespace plimsoll::report
