#pragma once

namespace CLI {
class App;
}

namespace plimsoll::tools {

// Each adds its subcommand to the app and sets the callback that runs it. A callback reports
// failure by throwing; main turns a plimsoll::Error into its message and exit code.

/// `plimsoll devices`: the devices, their memory, who holds it.
void add_devices(CLI::App& app);
/// `plimsoll replay`: a recorded trace through the arena.
void add_replay(CLI::App& app);
/// `plimsoll train`: a model, within a budget.
void add_train(CLI::App& app);
/// `plimsoll evaluate`: the loss and the metrics of a trained model on data.
void add_evaluate(CLI::App& app);
/// `plimsoll predict`: what a trained model makes of data.
void add_predict(CLI::App& app);
/// `plimsoll generate`: text by a trained language model.
void add_generate(CLI::App& app);
/// `plimsoll plan`: what that would take.
void add_plan(CLI::App& app);
/// `plimsoll ctl`: moves the limit of a running training.
void add_ctl(CLI::App& app);
/// `plimsoll report`: runs as a page.
void add_report(CLI::App& app);
/// `plimsoll watch`: a run while it goes on.
void add_watch(CLI::App& app);
/// `plimsoll place`: offsets for a list of buffers.
void add_place(CLI::App& app);
/// `plimsoll data`: input pipelines, and what is in a folder.
void add_data(CLI::App& app);
/// `plimsoll data inspect`, for add_data.
void add_data_inspect(CLI::App& data);
/// `plimsoll data pack` and `unpack`, for add_data.
void add_data_pack(CLI::App& data);
/// `plimsoll data cache`, for add_data.
void add_data_cache(CLI::App& data);

}  // namespace plimsoll::tools
