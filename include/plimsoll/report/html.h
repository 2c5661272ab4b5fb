#pragma once

#include <span>
#include <string>

#include <plimsoll/report/run.h>

namespace plimsoll::report {

struct HtmlOptions {
  /// Of the window; empty: the runs' names.
  std::string title = {};
  /// The page asks for `data.json` beside it once a second, as long as a run is running; for
  /// `plimsoll watch --http`.
  bool live = false;
};

/// One self-contained page that shows the runs: overview, memory over time against the budget, the
/// plan, the input pipeline, curves; several runs are compared. It asks nothing of any network, and
/// whatever the runs say is text in it, never markup.
std::string html(std::span<const Run> runs, const HtmlOptions& options = {});
inline std::string html(const Run& run, const HtmlOptions& options = {}) {
  return html(std::span(&run, 1), options);
}

/// The object that the page is drawn from, as JSON.
std::string html_data(std::span<const Run> runs, const HtmlOptions& options = {});

/// Writes the page; a file that is there is replaced when the new one is whole. DataError or
/// StorageError naming the file if it cannot be written.
void write_html(std::span<const Run> runs, const std::string& path,
                const HtmlOptions& options = {});
inline void write_html(const Run& run, const std::string& path, const HtmlOptions& options = {}) {
  write_html(std::span(&run, 1), path, options);
}

}  // namespace plimsoll::report
