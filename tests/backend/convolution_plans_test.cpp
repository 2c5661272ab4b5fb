// cuDNN's plans for convolutions on an H200, asked for without one: where a route says `library`,
// the library must have a plan within the route's workspace. Else the kernel falls back to the
// plain ones, many times slower. Compiled only where the CUDA backend is built.
//
//   PLIMSOLL_CONVOLUTION_SEED=17 PLIMSOLL_CONVOLUTIONS=5000   other random ones, and more of them
//   PLIMSOLL_CONVOLUTION_PLANS=1                              prints each, its plan and workspace
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#if !PLIMSOLL_HAS_CUDNN

TEST(ConvolutionPlans, ExistForAllThatRoutesGiveTheLibrary) {
  GTEST_SKIP() << "the build has no cuDNN";
}

#else

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <plimsoll/base/error.h>
#include <plimsoll/nn/models.h>
#include <plimsoll/nn/vision_models.h>
#include <plimsoll/ops/gpu_work.h>
#include <plimsoll/optim/optimizer.h>
#include <plimsoll/train/trainer.h>

#include "backend/cuda/libraries/convolution_graph.h"
#include "backend/cuda/libraries/convolution_request.h"
#include "backend/random_convolution.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // where the frontend looks for the library
}

namespace plimsoll {
namespace {

using cuda::ConvRequest;
using cuda::ConvSpec;
using cuda::CudnnTarget;
using cuda::GraphPlan;
using cuda::PlanBounds;

/// As cuDNN writes a device's properties (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
constexpr std::string_view kH200 = R"({
  "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
  "totalGlobalMem": 150754820096, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132,
  "warpSize": 32, "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "maxCtasPerSM": 32,
  "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "isTccDriver": 0, "supportCoopLaunch": 1,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,
  "deviceName": "NVIDIA H200"})";

/// Null, and why, if the library is too old for descriptions, or cannot be loaded.
std::shared_ptr<const cuda::fe::DeviceProperties> describe_h200(std::string* why) {
  if (cudnn_frontend::cudnn_dlhandle == nullptr) {
    cudnn_frontend::cudnn_dlhandle = dlopen(PLIMSOLL_CUDNN_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
  }
  if (cudnn_frontend::cudnn_dlhandle == nullptr) {
    *why = dlerror();
    return nullptr;
  }
  if (const std::size_t version = cuda::fe::detail::get_backend_version(); version < 90800) {
    *why = fmt::format("cuDNN {} takes no descriptions of devices", version);
    return nullptr;
  }
  std::vector<std::uint8_t> text(kH200.begin(), kH200.end());
  text.push_back(0);
  auto device = std::make_shared<cuda::fe::DeviceProperties>();
  auto status = device->deserialize(text);
  if (status.is_bad()) throw DeviceError("[cudnn] " + status.get_message());
  return device;
}

const char* name_of(ops::ConvPass pass) {
  switch (pass) {
    case ops::ConvPass::by_input:
      return "by_input";
    case ops::ConvPass::by_weight:
      return "by_weight";
    default:
      return "forward";
  }
}

std::string to_string(const ConvSpec& spec) {
  const ops::ConvShape& s = spec.shape;
  return fmt::format(
      "{} {}{}{}, {}, pictures {}, weight {}, groups {}, stride {}x{}, dilation {}x{}, padding "
      "{}.{}.{}.{}, {:.3g} Gflop",
      name_of(spec.pass), dtype_name(spec.dtype), spec.tf32 ? " as tf32" : "",
      spec.bias ? " and bias" : "", s.nhwc ? "nhwc" : "nchw", s.in_shape().to_string(),
      s.weight_shape().to_string(), s.groups, s.stride_down, s.stride_across, s.dilation_down,
      s.dilation_across, s.padding.top, s.padding.bottom, s.padding.left, s.padding.right,
      s.flops() / 1e9);
}

class ConvolutionPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    device_.described = describe_h200(&why);
    if (device_.described == nullptr) GTEST_SKIP() << why;
  }

  /// Asks for what the kernel would ask for on a device, once for each different convolution.
  void check(const ConvSpec& spec) {
    const auto route = ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32);
    if (route.kernel != ops::ConvKernel::library) return;
    if (!seen_.insert(to_string(spec)).second) return;
    std::string tried;
    for (const ConvRequest& request : cuda::library_requests(spec, route)) {
      if (plan_all(spec, request, tried)) return;
    }
    ADD_FAILURE() << to_string(spec) << ": the route says `library`, which has no plan " << tried;
  }

  std::size_t count() const { return seen_.size(); }

  std::optional<GraphPlan> plan(const ConvSpec& spec, const PlanBounds& bounds) const {
    cuda::fe::graph::Graph graph;
    return cuda::plan_conv(spec, device_, bounds, graph);
  }

  /// The plan for the first part, as it is chosen with these choices.
  std::optional<GraphPlan> choose(ChoiceTable& choices, const ConvSpec& spec, Bytes limit) const {
    return cuda::choose_graph(choices, to_string(spec), [&](const std::string& only) {
      cuda::fe::graph::Graph graph;
      return cuda::plan_conv(spec, device_, limit, graph, only);
    });
  }

 private:
  bool plan_all(const ConvSpec& spec, const ConvRequest& request, std::string& tried) {
    std::map<std::int64_t, GraphPlan> plans;  // by pictures
    for (const ConvSpec& part : request.parts) {
      if (plans.count(part.shape.n) != 0) continue;
      cuda::fe::graph::Graph graph;
      const auto plan = cuda::plan_conv(part, device_, request.bounds, graph);
      if (!plan) {
        tried += fmt::format("{}within {}", tried.empty() ? "" : ", nor ",
                             format_bytes(request.bounds.limit));
        return false;
      }
      EXPECT_LE(plan->workspace, request.bounds.limit) << to_string(spec);
      EXPECT_THAT(plan->name, ::testing::StartsWith("eng")) << to_string(spec);
      plans[part.shape.n] = *plan;
    }
    if (std::getenv("PLIMSOLL_CONVOLUTION_PLANS") == nullptr) return true;
    for (const auto& [pictures, plan] : plans) {
      fmt::print("{}: {} of {} pictures, {} of {} workspace\n", to_string(spec), plan.name,
                 pictures, format_bytes(plan.workspace), format_bytes(request.bounds.limit));
    }
    return true;
  }

  CudnnTarget device_;
  std::set<std::string> seen_;
};

/// That of the environment's variable, if it is set.
std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// All convolutions of a model's training step on an H200.
std::vector<ConvSpec> convolutions_of(const nn::Model& model, std::int64_t batch,
                                      const train::Precision& precision) {
  train::Trainer trainer(model, optim::sgd({.lr = 0.1}), {.precision = precision});
  const train::TrainingPlan plan = trainer.plan({.batch = batch}, plan::describe_device("h200"));
  std::vector<ConvSpec> found;
  const graph::Graph& graph = *plan.phases.front().steps.front()->graph;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op->family != "convolution") continue;
    std::vector<TensorType> in;
    std::vector<TensorType> out;
    for (const graph::ValueId v : node.inputs) in.push_back(graph.value(v).type);
    for (const graph::ValueId v : node.outputs) out.push_back(graph.value(v).type);
    const ops::GpuWork work = node.op->gpu_work({*node.op, in, node.attributes}, out);
    const auto& conv = std::get<ops::ConvWork>(work.what);
    found.push_back({conv.shape, conv.pass, conv.dtype, in.size() > 2, conv.tf32});
  }
  return found;
}

TEST_F(ConvolutionPlans, ExistForTheModelsAtTheSizesThatAreMeasured) {
  struct Case {
    const char* name;
    nn::Model model;
    std::int64_t batch;
  };
  for (const auto& [name, precision] : std::map<std::string, train::Precision>{
           {"bf16", bf16}, {"f16", f16}, {"tf32", tf32}, {"f32", f32}}) {
    const std::vector<Case> cases = {{"lenet", nn::lenet(), 128},
                                     {"resnet18", nn::resnet18(), 128},
                                     {"resnet50", nn::resnet50(), 256},
                                     {"vit_b16", nn::vit_b16(), 128},
                                     {"unet", nn::unet(), 32},
                                     {"mixer_b16", nn::mixer(), 128},
                                     {"convnext_t", nn::convnext(), 128},
                                     {"efficientnet_b0", nn::efficientnet_b0(), 128}};
    for (const Case& each : cases) {
      SCOPED_TRACE(fmt::format("{} in {}", each.name, name));
      for (const ConvSpec& spec : convolutions_of(each.model, each.batch, precision)) check(spec);
    }
  }
  EXPECT_GT(count(), 200U);
}

TEST_F(ConvolutionPlans, ExistForRandomOnes) {
  test::RandomConvolutions random(number("PLIMSOLL_CONVOLUTION_SEED", 1));
  const std::uint64_t wanted = number("PLIMSOLL_CONVOLUTIONS", 300);
  while (count() < wanted) check(random.next());
}

TEST_F(ConvolutionPlans, AreTheFastestOrComputeWithMatrixUnits) {
  // In 16 bits: without matrix units, what fits the workspace can take 40 times as long as what
  // does not.
  test::RandomConvolutions random(number("PLIMSOLL_CONVOLUTION_SEED", 3));
  const std::uint64_t wanted = number("PLIMSOLL_CONVOLUTIONS", 100);
  std::uint64_t seen = 0;
  std::uint64_t others = 0;
  std::vector<std::string> slow;
  while (seen < wanted) {
    const ConvSpec spec = random.next();
    const auto route = ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32);
    if (route.kernel != ops::ConvKernel::library) continue;
    if (spec.dtype == DType::f32 || !spec.shape.nhwc) continue;
    ++seen;
    const auto fastest = plan(spec, {cuda::kAnyWorkspace, cuda::kAnyWorkspace, true});
    if (!fastest) continue;  // there are none with matrix units
    for (const ConvRequest& request : cuda::library_requests(spec, route)) {
      const auto chosen = plan(request.parts.front(), request.bounds);
      if (!chosen) continue;
      if (request.bounds.matrix_units) {
        others += chosen->name != fastest->name ? 1 : 0;
      } else {
        const auto first = plan(spec, {cuda::kAnyWorkspace, cuda::kAnyWorkspace, false});
        if (!first || chosen->name != first->name) slow.push_back(to_string(spec));
      }
      break;
    }
  }
  EXPECT_LE(slow.size(), seen / 100) << ::testing::PrintToString(slow);
  EXPECT_LE(others, seen / 10) << "others than the library's fastest";
}

TEST_F(ConvolutionPlans, AreTakenAgainByTheirNames) {
  test::RandomConvolutions random(7);
  ChoiceTable first;
  ChoiceTable again;
  ::testing::internal::CaptureStderr();
  for (int left = 40; left > 0;) {
    const ConvSpec spec = random.next();
    const auto route = ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32);
    if (route.kernel != ops::ConvKernel::library) continue;
    --left;
    const std::optional<GraphPlan> chosen = choose(first, spec, ops::kConvWorkspace);
    again.prefer(first.all());
    const std::optional<GraphPlan> taken = choose(again, spec, ops::kConvWorkspace);
    ASSERT_EQ(taken.has_value(), chosen.has_value()) << to_string(spec);
    if (!chosen) continue;
    EXPECT_EQ(taken->workspace, chosen->workspace) << to_string(spec) << ' ' << chosen->name;
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "none was chosen anew";
  EXPECT_EQ(again.all(), first.all());
}

TEST_F(ConvolutionPlans, AreNotTakenAgainAboveTheWorkspaceThatThereIs) {
  test::RandomConvolutions random(7);
  for (int found = 0; found < 5;) {
    const ConvSpec spec = random.next();
    const auto route = ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32);
    if (route.kernel != ops::ConvKernel::library) continue;
    ChoiceTable roomy;
    const std::optional<GraphPlan> chosen = choose(roomy, spec, ops::kConvWorkspace);
    if (!chosen || chosen->workspace == 0) continue;
    ++found;
    ChoiceTable narrow;
    narrow.prefer(roomy.all());
    ::testing::internal::CaptureStderr();
    const std::optional<GraphPlan> anew = choose(narrow, spec, chosen->workspace - 1);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr("has no such plan"));
    EXPECT_NE(narrow.all(), roomy.all()) << to_string(spec);
    if (anew) {
      EXPECT_LT(anew->workspace, chosen->workspace) << to_string(spec);
    }
  }
}

TEST_F(ConvolutionPlans, AreOfferedWhileAlternativesAreMeasured) {
  test::RandomConvolutions random(11);
  std::size_t offered = 0;
  std::size_t taken = 0;
  for (int left = 4; left > 0;) {
    const ConvSpec spec = random.next();
    const auto route = ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32);
    if (route.kernel != ops::ConvKernel::library) continue;
    --left;
    const std::string key = to_string(spec);
    ChoiceTable as_ever;
    if (!choose(as_ever, spec, ops::kConvWorkspace)) continue;
    EXPECT_TRUE(as_ever.offers().empty());
    ChoiceTable table;
    table.explore({});
    ASSERT_TRUE(choose(table, spec, ops::kConvWorkspace)) << key;
    const std::string rule = table.all().at(key);
    EXPECT_EQ(rule, as_ever.all().at(key)) << "to ask for more changes nothing";
    const ChoiceTable::Offer offer = table.offers().at(key);
    EXPECT_EQ(offer.rule, rule);
    for (const std::string& other : offer.others) {
      ++offered;
      table.explore({{key, other}});
      const std::optional<GraphPlan> plan = choose(table, spec, ops::kConvWorkspace);
      ASSERT_TRUE(plan) << key;
      EXPECT_LE(plan->workspace, ops::kConvWorkspace) << key;
      // What cannot be had, or is ruled out, is answered with the rule's.
      const std::string got = table.all().at(key);
      if (got == other) {
        ++taken;
      } else {
        EXPECT_EQ(got, rule) << key;
      }
    }
  }
  EXPECT_GT(taken, 8U);
  if (std::getenv("PLIMSOLL_CONVOLUTION_PLANS") != nullptr) {
    fmt::print("{} of {} offered plans can be had\n", taken, offered);
  }
}

TEST_F(ConvolutionPlans, OfTf32CannotBeHadForFullF32) {
  std::size_t refused = 0;
  test::RandomConvolutions random(5);
  for (int left = 15; left > 0;) {
    ConvSpec spec = random.next();
    spec.dtype = DType::f32;
    spec.tf32 = true;
    const auto route = ops::conv_route(spec.shape, spec.pass, spec.dtype, spec.tf32);
    if (route.kernel != ops::ConvKernel::library) continue;
    --left;
    ChoiceTable table;
    table.explore({});
    if (!choose(table, spec, ops::kConvWorkspace)) continue;
    const std::string tf32 = table.all().at(to_string(spec));
    spec.tf32 = false;
    table.explore({{to_string(spec), tf32}});
    if (!choose(table, spec, ops::kConvWorkspace)) continue;
    const bool serves_both = tf32.find(" eng0") != std::string::npos;
    EXPECT_EQ(table.all().at(to_string(spec)) != tf32, !serves_both) << to_string(spec) << tf32;
    refused += serves_both ? 0 : 1;
  }
  EXPECT_GT(refused, 3U);
}

TEST_F(ConvolutionPlans, ThatCannotBeHadAreChosenAnewWithAWarning) {
  ConvSpec spec{.dtype = DType::bf16};
  spec.shape = {.nhwc = true,
                .n = 8,
                .in_channels = 64,
                .in_height = 56,
                .in_width = 56,
                .out_channels = 64,
                .out_height = 56,
                .out_width = 56,
                .kernel_height = 3,
                .kernel_width = 3,
                .padding = ops::Padding::all(1)};
  ChoiceTable as_ever;
  ASSERT_TRUE(choose(as_ever, spec, MiB(32)));
  const std::string key = to_string(spec);
  const std::string text = as_ever.all().at(key);
  const std::string library = text.substr(0, text.find(" eng") + 1);
  const auto expect_anew = [&](const std::string& preferred, const std::string& why) {
    ChoiceTable choices;
    choices.prefer({{key, preferred}});
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(choose(choices, spec, MiB(32))) << preferred;
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr(why)) << preferred;
    EXPECT_EQ(choices.all().at(key), text) << preferred;
  };
  expect_anew("cuDNN 9.1.0 eng1_k2=1", "this is cuDNN");
  expect_anew("", "this is cuDNN");
  for (const char* name : {"eng999999", "eng-1", "eng1_k2=", "eng1_k9999=1", "", "something"}) {
    expect_anew(library + name, "has no such plan");
  }
  // Where there was none, the kernel was another, and stays it.
  ChoiceTable none;
  none.prefer({{key, library + "none"}});
  EXPECT_FALSE(choose(none, spec, MiB(32)));
}

}  // namespace
}  // namespace plimsoll

#endif
