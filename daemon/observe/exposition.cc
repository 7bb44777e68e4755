#include "margay/observe/exposition.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "margay/wire/columns.h"

namespace margay::observe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// A picture older than this says nothing about now.
constexpr std::int64_t kStaleMs = 10'000;
// Names come from other people's programs.
constexpr std::size_t kLongestLabel = 512;

bool grows(const wire::Counter& c) {
  return c.kind() == wire::Counter::COUNTER || c.kind() == wire::Counter::LOSS;
}

double scale_of(const std::string& unit) {
  return unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : 1.0;
}

// A label's value: valid UTF-8 without control characters.
std::string label(const std::string& text) {
  std::string cut = text.substr(0, kLongestLabel);
  for (char& c : cut)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  const std::string json = nlohmann::json(cut).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return nlohmann::json::parse(json).get<std::string>();
}

std::string meaning(const wire::Counter& c) {
  std::string text = c.help();
  if (!c.remedy().empty()) text += "; if not 0: " + c.remedy();
  return text + ".";
}

class Page {
 public:
  explicit Page(std::string run) : run_(std::move(run)) {}

  MetricFamily& family(const std::string& name, const std::string& help, MetricType type) {
    families_.push_back({name, help, type, {}});
    return families_.back();
  }
  void add(MetricFamily& f, double value, std::vector<ClientMetric::Label> labels = {}) const {
    ClientMetric m;
    m.label = {{"run", run_}};
    for (auto& l : labels) m.label.push_back(std::move(l));
    if (f.type == MetricType::Counter)
      m.counter.value = value;
    else
      m.gauge.value = value;
    f.metric.push_back(std::move(m));
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::string run_;
  std::vector<MetricFamily> families_;
};

void add_sources(const wire::Health& h, Page& page) {
  using Get = std::uint64_t (wire::SourceAccount::*)() const;
  static constexpr std::pair<const char*, Get> kTerms[] = {
      {"produced", &wire::SourceAccount::produced},
      {"modelled", &wire::SourceAccount::modelled},
      {"late_dropped", &wire::SourceAccount::late_dropped},
      {"probe_dropped", &wire::SourceAccount::probe_dropped},
      {"wire_lost", &wire::SourceAccount::wire_lost},
      {"rejected", &wire::SourceAccount::rejected}};
  const int n = std::min(h.sources_size(), kMostSources);
  auto& left_out =
      page.family("margay_sources_left_out",
                  "resources without series of their own here; the sums have them.", MetricType::Gauge);
  page.add(left_out, static_cast<double>(h.sources_size() - n) + h.sources_left_out());
  if (n == 0) return;
  auto& events = page.family("margay_source_events_total",
                             "records of one resource, by where they went: produced is the sum of the others "
                             "and of those in flight.",
                             MetricType::Counter);
  for (int i = 0; i < n; ++i)
    for (const auto& [term, get] : kTerms)
      page.add(events, static_cast<double>((h.sources(i).*get)()),
               {{"resource", label(h.sources(i).resource())}, {"term", term}});
  auto& flying = page.family("margay_source_events_in_flight", "records of one resource on their way.",
                             MetricType::Gauge);
  for (int i = 0; i < n; ++i)
    page.add(flying, static_cast<double>(h.sources(i).in_flight()),
             {{"resource", label(h.sources(i).resource())}});
}

}  // namespace

std::string metric_name(const wire::Counter& c) {
  std::string name = "margay_" + c.name();
  for (const char* unit : {"us", "ms", "s"})
    if (c.unit() == unit && name.ends_with(std::string("_") + unit)) {
      name.resize(name.rfind('_'));
      name += "_seconds";
      break;
    }
  return grows(c) ? name + "_total" : name;
}

std::string exposition(const wire::Report& report) {
  const wire::Health& h = report.health();
  Page page(label(report.run()));
  page.add(page.family("margay_build_info", "version of the daemon and of the wire.", MetricType::Gauge), 1,
           {{"version", label(h.daemon_version())}, {"wire", std::to_string(report.version())}});
  page.add(page.family("margay_healthy", "1 if the daemon is healthy; /health says why it is not.",
                       MetricType::Gauge),
           h.state() == wire::Health::HEALTHY ? 1 : 0);
  for (const auto& c : h.counters())
    page.add(page.family(metric_name(c), meaning(c), grows(c) ? MetricType::Counter : MetricType::Gauge),
             static_cast<double>(c.value()) * scale_of(c.unit()));
  add_sources(h, page);
  return page.text();
}

std::string health_json(const wire::Report* report, std::int64_t age_ms, bool* healthy) {
  using Json = nlohmann::ordered_json;
  Json j;
  *healthy = false;
  j["healthy"] = false;
  j["reasons"] = Json::array();
  if (report == nullptr) {
    j["verdict"] = "degraded: the daemon is starting";
    j["reasons"].push_back("the daemon is starting");
  } else if (age_ms > kStaleMs) {
    const std::string why = "the analysis has said nothing for " + std::to_string(age_ms / 1000) + " s";
    j["verdict"] = "degraded: " + why;
    j["reasons"].push_back(why);
  } else {
    *healthy = report->health().state() == wire::Health::HEALTHY;
    j["healthy"] = *healthy;
    j["verdict"] = report->health().verdict();
    for (const auto& r : report->health().reasons()) j["reasons"].push_back(r);
  }
  if (report != nullptr) {
    j["run"] = report->run();
    j["age_ms"] = age_ms;
  }
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace margay::observe
