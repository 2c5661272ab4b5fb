#pragma once

#include <cstdint>
#include <random>
#include <string>

#include <fmt/format.h>

namespace plimsoll::report::test {

/// A small log with one of everything that fit() writes.
inline std::string sample_log() {
  return R"log({"time":0.001,"event":"run","format":2,"plimsoll":"0.1.0","began":1000.5,"pid":7,"host":"h","system":"Linux","cpu":"c","cpus":2,"host_memory":8589934592,"commit":"","command":["plimsoll","train"],"options":{"batch":["32"]},"model":"lenet","data":"digits"}
{"time":0.01,"event":"data","summary":"","training":1437,"validation":360}
{"time":0.02,"event":"begin","device":"cpu:0","budget":8388608,"planned_peak":4000000,"charged":4194304,"input":1000000,"batch":32,"parts":1,"usage":"process","step":0,"epoch":0,"total_steps":3,"epoch_steps":3,"epochs":1,"device_description":"c","device_memory":8589934592,"settings":{"seed":"0","optimizer":"adam"}}
{"time":0.03,"event":"plan","why":"","step":0,"plan":{"device":"cpu","budget":8388608,"planned_peak":4000000,"charged":4194304,"range":1024,"batch":32,"parts":1,"seconds":0.001,"at_peak":{"activations":1024},"phases":[]},"timeline":{"names":["conv2d","conv1","relu"],"tasks":[[0,1,0.001,0],[2,1,0.0005,2]],"values":[[0,5,1,0,512,-1,0,0],[1,3,1,512,512,0,1,0]]}}
{"time":0.04,"event":"holder","id":0,"device":"cpu:0","budget":"cpu:0/training","tag":"parameters","label":"lenet"}
{"time":0.04,"event":"holder","id":1,"device":"cpu:0","budget":"cpu:0/training","tag":"activations","label":"step"}
{"time":0.05,"event":"memory","device":"cpu:0","used":4194304,"limit":8388608,"peak":4194304,"system":90000000,"holders":[0,1000,1,3000000]}
{"time":0.1,"event":"step","step":1,"loss":2.3,"accuracy":0.125,"used":4194304,"lr":0.001,"seconds":0.002,"waited":0.0001,"elements":32,"epoch":0}
{"time":0.11,"event":"op_times","seconds":[0.0012,null]}
{"time":0.2,"event":"step","step":2,"loss":1.5,"accuracy":0.5,"used":5242880,"lr":0.001,"seconds":0.002,"waited":0.0001,"elements":32,"epoch":0}
{"time":0.21,"event":"memory","device":"cpu:0","used":5242880,"limit":8388608,"peak":6291456,"system":91000000,"holders":[0,1000,1,4000000]}
{"time":0.22,"event":"limit","budget":6291456,"step":2}
{"time":0.3,"event":"step","step":3,"loss":1.25,"accuracy":0.75,"used":4194304,"lr":0.001,"seconds":0.002,"waited":0.0001,"elements":32,"epoch":0}
{"time":0.31,"event":"validation","step":3,"elements":360,"seconds":0.01}
{"time":0.32,"event":"metric","epoch":1,"name":"validation_accuracy","value":0.9}
{"time":0.33,"event":"epoch","epoch":1,"step":3}
{"time":0.34,"event":"pipeline","name":"train","used":1000,"peak":2000,"skipped":0,"stages":[{"stage":"batch(32)","depth":0,"elements":3,"bytes":1000,"busy":0.01,"wait_input":0.0,"wait_room":0.2,"wait_memory":0.0,"held":0,"setting":""}],"bottleneck":{"stage":"batch(32)","remedy":"more threads","share":0.5}}
{"time":0.35,"event":"peak","device":"cpu:0","live":4500000,"charged":6291456,"holders":[0,1000,1,4499000]}
{"time":0.36,"event":"memory","device":"cpu:0","used":4194304,"limit":6291456,"peak":6291456,"system":91000000,"holders":[0,1000,1,3000000]}
{"time":0.4,"event":"end","steps":3,"epochs":1,"seconds":0.38,"planned_peak":4000000,"measured_peak":4000000,"charged_peak":6291456,"peak_limit":8388608,"replans":0,"corrections":0,"predicted_seconds_per_step":0.001,"corrected_seconds_per_step":0.0012,"measured_seconds_per_step":0.002,"checkpoint":"","stopped":""}
)log";
}

/// A random log of `steps` steps with as many memory lines, and where its extremes are.
struct RandomLog {
  std::string text;
  std::uint64_t used = 0;
  std::uint64_t system = 0;
  double loss_min = 1e300;
  double loss_max = -1e300;
};

inline RandomLog random_log(std::uint64_t seed, int steps) {
  std::mt19937_64 random(seed);
  RandomLog log;
  log.text =
      "{\"time\":0,\"event\":\"run\",\"format\":2,\"began\":0,\"pid\":1}\n"
      "{\"time\":0,\"event\":\"begin\",\"device\":\"cpu:0\",\"budget\":1073741824,\"step\":0}\n";
  for (int id = 0; id < 8; ++id) {
    log.text += fmt::format(
        "{{\"time\":0,\"event\":\"holder\",\"id\":{0},\"device\":\"cpu:0\",\"budget\":\"cpu:0\","
        "\"tag\":\"input\",\"label\":\"holder {0}\"}}\n",
        id);
  }
  std::exponential_distribution<double> spikes(1.0);
  for (int i = 1; i <= steps; ++i) {
    const auto used = static_cast<std::uint64_t>(1e6 * spikes(random) * spikes(random));
    const auto system = static_cast<std::uint64_t>(1e7 + 1e6 * spikes(random));
    const double loss = spikes(random) * spikes(random) * spikes(random);
    log.used = std::max(log.used, used);
    log.system = std::max(log.system, system);
    log.loss_min = std::min(log.loss_min, loss);
    log.loss_max = std::max(log.loss_max, loss);
    log.text += fmt::format(
        "{{\"time\":{0},\"event\":\"memory\",\"device\":\"cpu:0\",\"used\":{1},\"limit\":"
        "1073741824,"
        "\"peak\":{2},\"system\":{3},\"holders\":[{4},{1}]}}\n"
        "{{\"time\":{0},\"event\":\"step\",\"step\":{5},\"loss\":{6},\"used\":{1},\"lr\":0.1,"
        "\"elements\":32,\"epoch\":0}}\n",
        i * 0.01, used, log.used, system, random() % 8, i, loss);
  }
  return log;
}

}  // namespace plimsoll::report::test
