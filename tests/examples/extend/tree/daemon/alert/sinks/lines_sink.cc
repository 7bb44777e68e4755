// A sink, as an example: a line of text for each alert, appended to a file.
#include <fstream>
#include <utility>

#include "margay/sinks/settings.h"

namespace margay::sinks {
namespace {

class LinesSink final : public Sink {
 public:
  explicit LinesSink(std::string path) : path_(std::move(path)) {}

  const char* name() const override { return "lines"; }
  std::string where() const override { return path_; }
  void begin(const Notice& notice, TimeNs) override {
    std::ofstream out(path_, std::ios::app);
    out << alert::to_string(notice.alert.status) << ' ' << notice.node << ": " << notice.alert.message
        << '\n';
    out.close();
    done_ = out ? Outcome{} : Outcome{Outcome::Kind::kRetry, "cannot be written", {}};
  }
  std::optional<Outcome> progress(TimeNs) override { return std::exchange(done_, std::nullopt); }
  void cut(TimeNs) override {}

 private:
  std::string path_;
  std::optional<Outcome> done_;
};

}  // namespace

bool wants_lines(const Settings& s) {
  return !s.lines.empty();
}
Result<std::unique_ptr<Sink>> make_lines(const Settings& s, const Clock&) {
  return std::make_unique<LinesSink>(s.lines);
}

}  // namespace margay::sinks
