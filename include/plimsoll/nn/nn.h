#pragma once

// All of nn/: modules, layers, losses, metrics, models.

#include <plimsoll/nn/activations.h>
#include <plimsoll/nn/attention.h>
#include <plimsoll/nn/basic.h>
#include <plimsoll/nn/convolution.h>
#include <plimsoll/nn/convolution1d.h>
#include <plimsoll/nn/counts.h>
#include <plimsoll/nn/dense.h>
#include <plimsoll/nn/drop_path.h>
#include <plimsoll/nn/embedding_bag.h>
#include <plimsoll/nn/group_norm.h>
#include <plimsoll/nn/init.h>
#include <plimsoll/nn/language_models.h>
#include <plimsoll/nn/losses.h>
#include <plimsoll/nn/metrics.h>
#include <plimsoll/nn/model.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/module.h>
#include <plimsoll/nn/multi_head_attention.h>
#include <plimsoll/nn/normalization.h>
#include <plimsoll/nn/padding.h>
#include <plimsoll/nn/pooling.h>
#include <plimsoll/nn/published_names.h>
#include <plimsoll/nn/recommendation_models.h>
#include <plimsoll/nn/recurrent.h>
#include <plimsoll/nn/rope.h>
#include <plimsoll/nn/sequential.h>
#include <plimsoll/nn/transformer.h>
#include <plimsoll/nn/upsampling.h>
#include <plimsoll/nn/vision_models.h>
#include <plimsoll/nn/volume.h>
#include <plimsoll/nn/weight_form.h>
