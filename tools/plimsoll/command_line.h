#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The command line as the commands see it. CLI11 reads it; command_line.cpp alone includes it, as
// its templates take longer to compile than all the commands.

namespace CLI {  // NOLINT(readability-identifier-naming): its name there
class App;
class Option;
}  // namespace CLI

namespace plimsoll::tools {

/// Returns what is wrong with a value, or nothing; the option's name is put before it.
using Check = std::function<std::string(const std::string&)>;

/// Thrown by a command that ends with a code of its own, having said why.
struct EndWith {
  int code;
};

/// An option, flag or argument of a command; the command owns it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* check(Check check);
  /// What help calls the value: "SIZE".
  Option* type_name(const std::string& name);
  /// Help says what the value is if the option is not given.
  Option* show_default();
  Option* required();
  /// It may be given without a value.
  Option* optional_value();
  /// Not in the help: a run's file has it, and nobody types it.
  Option* hide();

  bool given() const;
  /// `name` with its dashes.
  bool is(const std::string& name) const;
  /// Without dashes.
  std::string name() const;
  std::vector<std::string> values() const;
  /// As if it had been given with these.
  void give(const std::vector<std::string>& values);

 private:
  CLI::Option* option_;
};

class Command {
 public:
  explicit Command(CLI::App* app);

  /// Names with dashes are options, others are arguments. A vector takes any number of values.
  Option* add_option(const std::string& name, std::string& to, const std::string& what = "");
  Option* add_option(const std::string& name, std::optional<std::string>& to,
                     const std::string& what = "");
  Option* add_option(const std::string& name, std::int64_t& to, const std::string& what = "");
  Option* add_option(const std::string& name, std::uint64_t& to, const std::string& what = "");
  Option* add_option(const std::string& name, int& to, const std::string& what = "");
  Option* add_option(const std::string& name, double& to, const std::string& what = "");
  Option* add_option(const std::string& name, std::vector<std::string>& to,
                     const std::string& what = "");
  Option* add_flag(const std::string& name, bool& to, const std::string& what = "");

  Command* add_subcommand(const std::string& name, const std::string& what);
  /// One of the subcommands has to be named.
  Command* require_subcommand();
  /// Examples, after the options in the help.
  Command* footer(const std::string& text);
  /// What the command does. It reports failure by throwing.
  Command* callback(std::function<void()> run);

  /// Null if there is none; `name` with its dashes.
  Option* find(std::string_view name);
  const std::list<Option>& options() const { return options_; }

 private:
  Option* added(CLI::Option* option);

  CLI::App* app_;
  std::list<Option> options_;  // neither moves: commands keep pointers
  std::list<Command> commands_;
};

/// Everything that can be typed.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& footer);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Commands are added to it.
  Command& root() { return *root_; }
  /// Runs what was asked for, or says what is wrong with it. Returns the exit code.
  int run(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  std::unique_ptr<Command> root_;
};

}  // namespace plimsoll::tools
