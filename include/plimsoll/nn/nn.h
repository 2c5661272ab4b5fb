#pragma once

// All of nn/: modules, layers, losses, metrics, models.

#include <plimsoll/nn/attention.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/init.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/metrics.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/module.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/sequential.h>
