// The viewer's lists: what Qt asks of a model, and what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QSortFilterProxyModel>

#include "models.h"
#include "shown.h"

namespace margay::viewer {
namespace models_test {

using FailureMode = QAbstractItemModelTester::FailureReportingMode;

std::vector<std::string> ids(const AlertModel& model) {
  std::vector<std::string> out;
  for (int r = 0; r < model.rowCount(); ++r) out.push_back(model.at(r).id);
  return out;
}

TEST(AlertModel, IsAModelThatQtBelieves) {
  AlertModel model;
  const QAbstractItemModelTester tester(&model, FailureMode::Fatal);
  for (const int n : {0, 3, 1, 7, 0}) {
    model.set(alerts_of(report(n)), scene::Times());
    EXPECT_EQ(model.rowCount(), n);
    EXPECT_EQ(model.firing(), (n + 1) / 2);
  }
}

TEST(AlertModel, SaysWhatAnAlertSays) {
  AlertModel model;
  model.set(alerts_of(report(2)), scene::Times());
  ASSERT_EQ(model.rowCount(), 2);
  // The newest first.
  EXPECT_EQ(model.index(0, AlertModel::kState).data().toString(), "resolved");
  EXPECT_EQ(model.index(1, AlertModel::kState).data().toString(), "firing");
  EXPECT_EQ(model.index(1, AlertModel::kSentence).data().toString(), "rank <1> computes 4.0 x longer");
  EXPECT_EQ(model.index(1, AlertModel::kOnset).data().toString(), "1 s");
  EXPECT_EQ(model.node_of(1), "/a/r1");
}

TEST(AlertModel, TellsWhatItClaimsInTheToolTip) {
  wire::Report r;
  auto* a = r.add_alerts();
  a->set_id("r-1");
  a->set_message("rank1 is slow");
  a->set_cost_s(2.5);
  a->set_false_alarms_per_day(0.031);
  auto* c = a->add_candidates();
  c->set_name("/a/r1");
  c->set_kind("resource");
  c->set_probability(0.97);
  a->add_likely_cause("/a/r1");
  AlertModel model;
  model.set(alerts_of(r), scene::Times());
  EXPECT_EQ(model.index(0, AlertModel::kSentence).data(Qt::ToolTipRole).toString(),
            "rank1 is slow\ncost: 2.5 s that the job is late\ncause: r1 on a (0.97)\n"
            "false alarms with as much evidence: 0.031 a day\nr-1");
}

TEST(AlertModel, SeveralWhoAreBlamedAreWhereTheNodeIs) {
  wire::Report r;
  auto* a = r.add_alerts();
  a->set_id("1");
  a->set_node("/a");
  a->add_resources("/a/r1");
  a->add_resources("/a/r2");
  a = r.add_alerts();
  a->set_id("2");
  a->set_kind(wire::Alert::LOSS);
  a->set_node("/b");
  AlertModel model;
  model.set(alerts_of(r), scene::Times());
  ASSERT_EQ(model.rowCount(), 2);
  for (int row = 0; row < 2; ++row) EXPECT_EQ(model.node_of(row), model.at(row).id == "1" ? "/a" : "/b");
}

// In any order and of any ids: each row is what was set, and one that stays is the same row to who points at
// it.
TEST(AlertModel, KeepsWhoWasChosenWhateverComes) {
  AlertModel model;
  const QAbstractItemModelTester tester(&model, FailureMode::Fatal);
  const wire::Report all = report(12);
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    wire::Report some = report(0);
    std::vector<wire::Alert> shown(all.alerts().begin(), all.alerts().end());
    std::shuffle(shown.begin(), shown.end(), rng);
    shown.resize(rng() % 13);
    for (const wire::Alert& a : shown) *some.add_alerts() = a;
    const int at =
        model.rowCount() > 0 ? static_cast<int>(rng() % static_cast<unsigned>(model.rowCount())) : -1;
    const QPersistentModelIndex chosen(model.index(at, 0));
    const std::string id = at >= 0 ? model.at(at).id : "";
    model.set(alerts_of(some), scene::Times());
    AlertModel fresh;
    fresh.set(alerts_of(some), scene::Times());
    ASSERT_EQ(ids(model), ids(fresh));
    const auto now = ids(model);
    if (std::find(now.begin(), now.end(), id) != now.end()) {
      ASSERT_TRUE(chosen.isValid());
      ASSERT_EQ(model.at(chosen.row()).id, id);
    } else {
      ASSERT_FALSE(chosen.isValid());
    }
  }
}

TEST(StatisticsModel, IsAModelThatQtBelievesAndSorts) {
  const auto data = small();
  StatisticsModel model;
  const QAbstractItemModelTester tester(&model, FailureMode::Fatal);
  const scene::Palette palette(scene::Theme::kLight);
  model.set(scene::statistics(*data, {0, 0, data->slices()}), *data, palette);
  ASSERT_EQ(model.rowCount(), static_cast<int>(model.statistics().rows.size()));
  QSortFilterProxyModel sorted;
  sorted.setSourceModel(&model);
  sorted.setSortRole(Qt::EditRole);
  sorted.sort(StatisticsModel::kShare, Qt::DescendingOrder);
  double before = 2;
  for (int r = 0; r < sorted.rowCount(); ++r) {
    const double share = sorted.index(r, StatisticsModel::kShare).data(Qt::EditRole).toDouble();
    EXPECT_LE(share, before);
    before = share;
  }
  model.set({}, *data, palette);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(StatisticsModel, ListsAllStatesOfTheRunWhateverTheSelectionHas) {
  const auto data = small();
  StatisticsModel model;
  const QAbstractItemModelTester tester(&model, FailureMode::Fatal);
  const scene::Palette palette(scene::Theme::kLight);
  std::vector<scene::State> known = data->states;
  known.push_back({"MPI_Recv", wire::FAMILY_POINT_TO_POINT});
  // /a/r0 does nothing but send for half of the time.
  const auto r0 = static_cast<std::uint32_t>(scene::node_at(*data, "/a/r0"));
  model.set(scene::statistics(*data, {r0, 0, 2}), *data, palette, known);
  ASSERT_EQ(model.rowCount(), 5);
  for (int r = 0; r < model.rowCount(); ++r) {
    const std::string name = model.state(r).name;
    const QString share = model.index(r, StatisticsModel::kShare).data().toString();
    EXPECT_EQ(share, name == "MPI_Send" ? "80 %" : "") << name;
    // Who was not there did nothing that could be left out.
    EXPECT_EQ(model.index(r, StatisticsModel::kName).data(Qt::CheckStateRole).isValid(), name != "absent");
  }
}

TEST(StatisticsModel, RowsThatStayAreTheSame) {
  const auto data = small();
  StatisticsModel model;
  const scene::Palette palette(scene::Theme::kLight);
  model.set(scene::statistics(*data, {0, 0, 4}), *data, palette, data->states);
  QSignalSpy reset(&model, &QAbstractItemModel::modelReset),
      changed(&model, &QAbstractItemModel::dataChanged);
  model.set(scene::statistics(*data, {0, 0, 2}), *data, palette, data->states, {"MPI_Wait"});
  EXPECT_EQ(reset.count(), 0);
  EXPECT_EQ(changed.count(), 1);
}

TEST(StatisticsModel, ABoxIsAWish) {
  const auto data = small();
  StatisticsModel model;
  const scene::Palette palette(scene::Theme::kLight);
  const std::vector<scene::State> known = {{"a", wire::FAMILY_COMPUTE}, {"b", wire::FAMILY_WAIT}};
  model.set({}, *data, palette, known);
  QSignalSpy wished(&model, &StatisticsModel::wished);
  EXPECT_TRUE(model.setData(model.index(1, StatisticsModel::kName), Qt::Unchecked, Qt::CheckStateRole));
  ASSERT_EQ(wished.count(), 1);
  EXPECT_EQ(wished[0][0].toInt(), 1);
  EXPECT_FALSE(wished[0][1].toBool());
  EXPECT_TRUE(model.shown(1)) << "it comes true with the next set()";
  EXPECT_FALSE(model.setData(model.index(1, StatisticsModel::kShare), Qt::Unchecked, Qt::CheckStateRole));
  EXPECT_EQ(model.with(1, false), std::vector<std::string>{"a"});
  model.set({}, *data, palette, known, {"a"});
  EXPECT_FALSE(model.shown(1));
  EXPECT_EQ(model.with(1, true), std::vector<std::string>()) << "all is no filter";
  EXPECT_EQ(model.with(0, false), std::nullopt) << "nothing at all is nothing to look at";
}

}  // namespace models_test
}  // namespace margay::viewer
