#include "command_line.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <plimsoll/base/text.h>
#include <plimsoll/base/version.h>

#include "mistakes.h"

namespace plimsoll::tools {
namespace {

constexpr int kUserError = 2;
/// How help calls the values of options.
constexpr const char* kCount = "N";
constexpr const char* kNumber = "NUMBER";

/// Descriptions are wrapped to what is left of 80 columns beside the names. An argument that can
/// also be given as an option is listed once.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("SUBCOMMAND", "COMMAND");
    label("Subcommands", "Commands");
    label("Positionals", "Arguments");
    label("REQUIRED", "");  // the line of the usage shows it
  }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    if (!is_positional && option->get_positional()) return {};
    return CLI::Formatter::make_option(option, is_positional);
  }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
    // Hidden options leave an empty line, and so does a footer that is not there.
    for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) {
      text.erase(at, 1);
    }
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(CLI::Formatter::make_option_desc(option), 0, 80 - get_column_width());
  }
};

/// The command that was chosen: the last of those that follow each other.
const CLI::App* chosen(const CLI::App* app, std::string& name) {
  name = "plimsoll";
  for (auto below = app->get_subcommands(); !below.empty(); below = app->get_subcommands()) {
    app = below.front();
    name += " " + app->get_name();
  }
  return app;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

/// What is left over on a command line: the option that is none rather than what stands beside it.
std::string describe_surplus(const CLI::App& app, const std::vector<std::string>& surplus) {
  const auto option = std::find_if(surplus.begin(), surplus.end(), [](const std::string& each) {
    return each.size() > 1 && each[0] == '-' &&
           std::isdigit(static_cast<unsigned char>(each[1])) == 0;
  });
  if (option != surplus.end()) {
    const std::string name = option->substr(0, option->find('='));
    const std::vector<std::string> known = option_names(app);
    // After "--" nothing is an option.
    if (std::find(known.begin(), known.end(), name) != known.end()) {
      return fmt::format("unexpected argument '{}' after '--'", name);
    }
    return fmt::format("unknown option '{}'{}", name, suggestion(name, known));
  }
  const std::string& word = surplus.front();
  const std::vector<std::string> commands = command_names(app);
  if (!commands.empty()) {
    return fmt::format("there is no command '{}'{}", word, suggestion(word, commands));
  }
  return fmt::format("unexpected argument '{}'", word);
}

/// "Could not convert: --batch = abc" in words that name what is wanted.
std::string describe_conversion(const CLI::App& app, const std::string& message) {
  const std::size_t colon = message.find(": ");
  const std::size_t equals = message.find(" = ", colon == std::string::npos ? 0 : colon);
  if (colon == std::string::npos || equals == std::string::npos) return message;
  const std::string name = message.substr(colon + 2, equals - colon - 2);
  const CLI::Option* const option = app.get_option_no_throw(name);
  const std::string type = option == nullptr ? "" : option->get_type_name();
  const std::string value = message.substr(equals + 3);
  if (is_count_or_zero(value).empty()) return fmt::format("{}: {} is too large", name, value);
  return fmt::format("{}: '{}' is not a {}number", name, value, type == kNumber ? "" : "whole ");
}

/// Describes a mistake in the command line, and where to read how it should be.
std::string describe_mistake(const CLI::App* app, const CLI::Error& error) {
  std::string name;
  const CLI::App* const command = chosen(app, name);
  std::string message = error.what();
  const auto is = [&](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  if (is(CLI::ExitCodes::ExtrasError)) {
    if (const auto surplus = app->remaining(true); !surplus.empty()) {
      message = describe_surplus(*command, surplus);
    }
  } else if (is(CLI::ExitCodes::RequiredError) && !command_names(*command).empty()) {
    const auto surplus = app->remaining(true);
    message = surplus.empty() ? fmt::format("name one of its commands: {}",
                                            fmt::join(command_names(*command), ", "))
                              : describe_surplus(*command, surplus);
  } else if (is(CLI::ExitCodes::ConversionError)) {
    message = describe_conversion(*command, message);
  } else if (is(CLI::ExitCodes::ArgumentMismatch)) {
    if (message.ends_with(" missing"))
      message = message.substr(0, message.find(':')) + " needs a value";
    if (const std::size_t at = message.find(": At Most 1 required"); at != std::string::npos)
      message = message.substr(0, at) + " is given more than once; give it once";
  }
  return fmt::format("{}: {}{} `{} --help`\n", name, message,
                     message.ends_with('?') ? " See" : "; see", name);
}

/// Lets every option and argument of `app` and its commands refuse an empty value: it comes from a
/// variable of a shell that is not set, and would be taken for an option that was not given.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_expected_max() == 0) continue;
    option->check([](const std::string& text) {
      return text.empty() ? std::string("the value is empty; is a variable of the shell not set?")
                          : std::string();
    });
  }
  for (CLI::App* const command : app.get_subcommands({})) refuse_empty_values(*command);
}

}  // namespace

Option* Option::check(Check check) {
  option_->check(std::move(check));
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::show_default() {
  option_->capture_default_str();
  return this;
}

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::optional_value() {
  option_->expected(0, 1);
  return this;
}

Option* Option::hide() {
  option_->group("");
  return this;
}

bool Option::given() const { return option_->count() > 0; }
bool Option::is(const std::string& name) const { return option_->check_name(name); }
std::string Option::name() const { return option_->get_single_name(); }
std::vector<std::string> Option::values() const { return option_->results(); }

void Option::give(const std::vector<std::string>& values) {
  for (const std::string& value : values) option_->add_result(value);
  option_->run_callback();
}

Command::Command(CLI::App* app) : app_(app) {}

Option* Command::added(CLI::Option* option) { return &options_.emplace_back(option); }

Option* Command::add_option(const std::string& name, std::string& to, const std::string& what) {
  return added(app_->add_option(name, to, what));
}

Option* Command::add_option(const std::string& name, std::optional<std::string>& to,
                            const std::string& what) {
  return added(app_->add_option(name, to, what));
}

Option* Command::add_option(const std::string& name, std::int64_t& to, const std::string& what) {
  return added(app_->add_option(name, to, what)->type_name(kCount));
}

Option* Command::add_option(const std::string& name, std::uint64_t& to, const std::string& what) {
  return added(app_->add_option(name, to, what)->type_name(kCount));
}

Option* Command::add_option(const std::string& name, int& to, const std::string& what) {
  return added(app_->add_option(name, to, what)->type_name(kCount));
}

Option* Command::add_option(const std::string& name, double& to, const std::string& what) {
  return added(app_->add_option(name, to, what)->type_name(kNumber));
}

Option* Command::add_option(const std::string& name, std::vector<std::string>& to,
                            const std::string& what) {
  return added(app_->add_option(name, to, what));
}

Option* Command::add_flag(const std::string& name, bool& to, const std::string& what) {
  return added(app_->add_flag(name, to, what));
}

Command* Command::add_subcommand(const std::string& name, const std::string& what) {
  return &commands_.emplace_back(app_->add_subcommand(name, what));
}

Command* Command::require_subcommand() {
  app_->require_subcommand(1);
  return this;
}

Command* Command::footer(const std::string& text) {
  app_->footer(text);
  return this;
}

Command* Command::callback(std::function<void()> run) {
  app_->callback(std::move(run));
  return this;
}

Option* Command::find(std::string_view name) {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const Option& each) { return each.is(std::string(name)); });
  return found == options_.end() ? nullptr : &*found;
}

CommandLine::CommandLine(const std::string& description, const std::string& footer)
    : app_(std::make_unique<CLI::App>(description, "plimsoll")),
      root_(std::make_unique<Command>(app_.get())) {
  app_->footer(footer);
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->failure_message(describe_mistake);
  app_->set_version_flag("--version", "plimsoll " + std::string(version()),
                         "Print the version and exit");
  app_->require_subcommand(0, 1);
}

CommandLine::~CommandLine() = default;

int CommandLine::run(int argc, char** argv) {
  refuse_empty_values(*app_);
  try {
    app_->parse(argc, argv);
  } catch (const EndWith& end) {
    return end.code;
  } catch (const CLI::ParseError& error) {
    // Help and version come as exceptions with code 0; everything else is a mistyped command.
    return app_->exit(error) == 0 ? 0 : kUserError;
  }
  if (app_->get_subcommands().empty()) std::fputs(app_->help().c_str(), stdout);
  return 0;
}

}  // namespace plimsoll::tools
