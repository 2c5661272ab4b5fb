#pragma once

namespace plimsoll::tools {

class Command;

// Each adds its subcommand to the app and sets the callback that runs it. A callback reports
// failure by throwing; main turns a plimsoll::Error into its message and exit code.

/// `plimsoll devices`: the devices, their memory, who holds it.
void add_devices(Command& app);
/// `plimsoll replay`: a recorded trace through the arena.
void add_replay(Command& app);
/// `plimsoll train`: a model, within a budget.
void add_train(Command& app);
/// `plimsoll tune`: what a GPU's libraries had better choose for it.
void add_tune(Command& app);
/// `plimsoll evaluate`: the loss and the metrics of a trained model on data.
void add_evaluate(Command& app);
/// `plimsoll predict`: what a trained model makes of data.
void add_predict(Command& app);
/// `plimsoll generate`: text by a trained language model.
void add_generate(Command& app);
/// `plimsoll plan`: what that would take.
void add_plan(Command& app);
/// `plimsoll ctl`: moves the limit of a running training.
void add_ctl(Command& app);
/// `plimsoll report`: runs as a page.
void add_report(Command& app);
/// `plimsoll watch`: a run while it goes on.
void add_watch(Command& app);
/// `plimsoll place`: offsets for a list of buffers.
void add_place(Command& app);
/// `plimsoll data`: input pipelines, and what is in a folder.
void add_data(Command& app);
/// `plimsoll data inspect`, for add_data.
void add_data_inspect(Command& data);
/// `plimsoll data pack` and `unpack`, for add_data.
void add_data_pack(Command& data);
/// `plimsoll data cache`, for add_data.
void add_data_cache(Command& data);

}  // namespace plimsoll::tools
