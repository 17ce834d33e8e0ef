#include "client/exit_code.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/top/picture.h"
#include "tests/client/client_test.h"
#include "tests/client/golden.h"

namespace trainctl::client {
namespace {

v1::JobView QueuedJob(const std::string& id, int64_t priority) {
  v1::JobView job;
  job.set_id(id);
  job.set_name("next-" + id);
  job.set_owner("bo");
  job.set_state("QUEUED");
  job.set_reason("waits for 2 devices, 1 is free");
  job.set_devices(2);
  job.set_priority(priority);
  job.set_submitted_at(900'000'000);
  return job;
}

// A site on which everything is to be seen.
v1::ListResponse BusySite() {
  v1::ListResponse site;
  *site.add_workers() = GpuWorker("alpha/0", "BUSY", 98);
  *site.add_workers() = GpuWorker("alpha/1", "READY", 0);
  *site.add_workers() = GpuWorker("alpha/10", "LOST", 0);
  site.mutable_workers(0)->set_job("j2");
  v1::JobView tiny = RunningJob("j2", "tiny");
  tiny.set_owner("anna");
  *site.add_jobs() = QueuedJob("j10", 50);
  *site.add_jobs() = QueuedJob("j4", 50);
  *site.add_jobs() = QueuedJob("j11", 80);
  site.mutable_jobs(2)->set_predicted_start(int64_t{1'000} * 1'000'000 + 3'600'000'000);
  *site.add_jobs() = tiny;
  return site;
}

v1::ListResponse EndedJobs() {
  v1::ListResponse ended;
  *ended.add_jobs() = FinishedJob("j1", "big", "OOM_GPU");
  ended.mutable_jobs(0)->set_message("rank 0 asked for 2.00 GiB in forward");
  return ended;
}

SiteView SampleSite() {
  SiteView site = SiteViewOf("127.0.0.1:7070", 1'000'000'000, BusySite(), EndedJobs());
  HeldMemory& memory = site.memory["j2"];
  memory.kinds = {.params = 20, .grads = 10, .optimizer = 40};
  memory.whole = 70;
  memory.predicted_peak = 90;
  memory.limit = 100;
  return site;
}

std::string Text(const std::vector<std::string>& rows) { return Join(rows, "\n") + "\n"; }

std::vector<std::string> Shown(const SiteView& site, const Paper& paper, TopState state = {}) {
  Settle(site, &state);
  return SitePicture(site, paper, &state);
}

TEST(TopPicture, ShowsDevicesJobsAndTheQueueOn80Columns) {
  ExpectGolden("top-80.txt", Text(Shown(SampleSite(), {})));
}

TEST(TopPicture, HasMoreOnAWiderTerminal) {
  ExpectGolden("top-160.txt", Text(Shown(SampleSite(), {.columns = 160})));
}

TEST(TopPicture, WithoutUnicodeIsAscii) {
  SiteView site = SampleSite();
  site.running[0].set_name("émile");
  const std::string text = Text(Shown(site, {.unicode = false}));
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c > 0; })) << text;
  EXPECT_NE(text.find("?mile"), std::string::npos);
  site.running[0].set_name("日本 e\u0301");
  const std::string wide = Text(Shown(site, {.unicode = false}));
  EXPECT_NE(wide.find("???? e "), std::string::npos) << "as wide as it was laid out\n" << wide;
  EXPECT_NE(text.find("#####"), std::string::npos);
}

TEST(TopPicture, NeverLeavesTheScreen) {
  SiteView site = SampleSite();
  site.running[0].set_name(std::string(300, 'x'));
  site.running[0].set_reason(std::string(300, 'y'));
  for (int i = 0; i < 200; ++i) site.queued.push_back(QueuedJob("j" + std::to_string(100 + i), 50));
  for (int i = 0; i < 256; ++i)
    site.workers.push_back(
        GpuWorker("h" + std::to_string(i / 8) + "/" + std::to_string(i), "BUSY", 7));
  for (const int columns : {20, 40, 79, 80, 132, 250}) {
    for (const int rows : {6, 10, 24, 60, 400}) {
      const auto picture = Shown(site, {.columns = columns, .rows = rows});
      EXPECT_EQ(picture.size(), static_cast<size_t>(rows));
      for (const std::string& row : picture) EXPECT_LE(DisplayWidth(row), columns) << row;
    }
    const std::vector<std::string> help = HelpPicture({.columns = columns});
    for (const std::string& row : help) EXPECT_LE(DisplayWidth(row), columns) << row;
    EXPECT_EQ(help == HelpPicture({.columns = 250}), columns >= 79) << columns;
  }
}

TEST(TopPicture, TheSelectedJobIsInIt) {
  SiteView site = SampleSite();
  for (int i = 0; i < 200; ++i) site.queued.push_back(QueuedJob("j" + std::to_string(100 + i), 50));
  for (const v1::JobView* job : site.jobs()) {
    const std::string text = Text(Shown(site, {}, {.selected = job->id()}));
    EXPECT_NE(text.find("▶ " + job->id() + " "), std::string::npos) << job->id() << "\n" << text;
  }
}

TEST(TopPicture, HostsStandAloneWhereNotAllDevicesFit) {
  SiteView site = SampleSite();
  site.workers.clear();
  for (int i = 0; i < 64; ++i)
    site.workers.push_back(GpuWorker("h" + std::to_string(i / 8) + "/" + std::to_string(i % 8),
                                     i == 9 ? "LOST" : "BUSY", 50));
  const std::string text = Text(Shown(site, {.columns = 120, .rows = 40}));
  EXPECT_NE(text.find("h1    7 of 8 busy, 1 lost"), std::string::npos) << text;
  EXPECT_NE(text.find("352.0/1120.0 GiB"), std::string::npos) << text;
  EXPECT_NE(text.find("4,896 W"), std::string::npos) << text;
}

TEST(TopPicture, NamesDoNotSteerTheTerminal) {
  SiteView site = SampleSite();
  site.running[0].set_name("\x1b[2Jred\nline");
  site.problem = "\x1b[31mgone";
  const std::string text = Text(Shown(site, {.columns = 160, .rows = 24}));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("\\u001b[2Jred line"), std::string::npos) << text;
}

TEST(TopPicture, AnEmptySiteSaysSo) {
  const std::string text = Text(Shown(SiteViewOf("s", 1, {}, {}), {}));
  EXPECT_NE(text.find("no workers: jobs stay queued"), std::string::npos);
  EXPECT_NE(text.find("no jobs"), std::string::npos);
}

// ---- keys ----

KeyPress Letter(char letter) { return {KeyKind::kCharacter, letter}; }

TEST(TopKeys, MoveTheSelectionAmongJobsThatAreThere) {
  const SiteView site = SampleSite();  // j2, then j11, j4, j10, then j1
  TopState state;
  Settle(site, &state);
  EXPECT_EQ(state.selected, "j2");
  Obey(Letter('j'), site, &state);
  Obey({KeyKind::kDown}, site, &state);
  EXPECT_EQ(state.selected, "j4");
  Obey(Letter('k'), site, &state);
  EXPECT_EQ(state.selected, "j11");
  Obey({KeyKind::kEnd}, site, &state);
  Obey({KeyKind::kDown}, site, &state);
  EXPECT_EQ(state.selected, "j1");
}

TEST(TopKeys, TheSelectionStaysWithItsJob) {
  SiteView site = SampleSite();
  TopState state{.selected = "j4"};
  site.running.push_back(site.queued[0]);
  site.queued.erase(site.queued.begin());
  Settle(site, &state);
  EXPECT_EQ(state.selected, "j4");
  site.queued.clear();
  Settle(site, &state);
  EXPECT_EQ(state.selected, "j2");
}

TEST(TopKeys, AJobEndsOnlyAfterAConfirmation) {
  const SiteView site = SampleSite();
  TopState state{.selected = "j2"};
  EXPECT_EQ(Obey(Letter('c'), site, &state), TopAction::kNone);
  EXPECT_EQ(state.to_cancel, "j2");
  EXPECT_EQ(Obey(Letter('q'), site, &state), TopAction::kNone);  // any other key
  EXPECT_EQ(state.to_cancel, "");
  Obey(Letter('c'), site, &state);
  EXPECT_EQ(Obey(Letter('y'), site, &state), TopAction::kNone) << "it runs";
  EXPECT_EQ(Obey(Letter('y'), site, &state), TopAction::kCancel);
  EXPECT_EQ(state.to_cancel, "j2");
}

TEST(TopKeys, AJobThatHasEndedIsNotAskedToEnd) {
  TopState state{.selected = "j1"};
  Obey(Letter('c'), SampleSite(), &state);
  EXPECT_EQ(state.to_cancel, "");
  EXPECT_EQ(state.notice, "big (j1) has ended already.");
}

TEST(TopKeys, QLeavesTheLogBeforeTheProgram) {
  const SiteView site = SampleSite();
  TopState state{.selected = "j2"};
  Obey(Letter('l'), site, &state);
  EXPECT_EQ(state.log_of, "j2");
  EXPECT_EQ(Obey(Letter('q'), site, &state), TopAction::kNone);
  EXPECT_EQ(state.log_of, "");
  EXPECT_EQ(Obey(Letter('q'), site, &state), TopAction::kQuit);
  EXPECT_EQ(Obey({KeyKind::kHangUp}, site, &state), TopAction::kQuit);
}

TEST(TopLog, ScrollsBackAndReturnsToItsEnd) {
  std::deque<std::string> lines;
  for (int i = 0; i < 100; ++i) lines.push_back("line " + std::to_string(i));
  const SiteView site = SampleSite();
  TopState state{.log_of = "j2"};
  const auto text = [&] { return Text(LogPicture(site, {lines}, {}, &state)); };
  EXPECT_NE(text().find("line 99"), std::string::npos);
  Obey({KeyKind::kPageUp}, site, &state);
  EXPECT_NE(text().find("line 78\n"), std::string::npos);
  EXPECT_EQ(text().find("line 79\n"), std::string::npos);
  Obey(Letter('g'), site, &state);
  EXPECT_NE(text().find("line 0\n"), std::string::npos);
  Obey(Letter('G'), site, &state);
  EXPECT_NE(text().find("line 99"), std::string::npos);
}

TEST(TopArranged, OnlyJobsWithTheTextInTheOrderThatIsChosen) {
  SiteView site = SampleSite();
  v1::JobView large = RunningJob("j12", "Large");
  large.set_peak_allocated_bytes(int64_t{99} << 30);
  large.set_remaining_seconds(0);
  large.set_owner("bob");
  site.running.push_back(large);
  const auto ids = [&site](JobOrder order, const std::string& filter) {
    std::string text;
    const SiteView arranged = Arranged(site, order, filter);
    for (const v1::JobView* job : arranged.jobs()) text += job->id() + " ";
    return text;
  };
  EXPECT_EQ(ids(JobOrder::kAge, ""), "j2 j12 j11 j4 j10 j1 ");
  EXPECT_EQ(ids(JobOrder::kName, ""), "j12 j2 j11 j4 j10 j1 ");
  EXPECT_EQ(ids(JobOrder::kOwner, ""), "j2 j12 j11 j4 j10 j1 ");
  EXPECT_EQ(ids(JobOrder::kLeft, ""), "j2 j12 j11 j4 j10 j1 ") << "what is not known is last";
  EXPECT_EQ(ids(JobOrder::kPeak, ""), "j12 j2 j11 j4 j10 j1 ");
  EXPECT_EQ(ids(JobOrder::kAge, "LARGE"), "j12 ");
  EXPECT_EQ(ids(JobOrder::kAge, "bo"), "j12 j11 j4 j10 ");
  EXPECT_EQ(ids(JobOrder::kAge, "alpha/1"), "j2 j12 j1 ");
}

TEST(TopArranged, TheHeadingSaysHowManyOfAllAFilterShows) {
  const SiteView all = SampleSite();
  ASSERT_EQ(all.running.size(), 1u);
  ASSERT_EQ(all.queued.size(), 3u);
  EXPECT_NE(Text(Shown(all, {})).find(" · 1 running, 3 queued"), std::string::npos);
  const std::string text = Text(Shown(Arranged(all, JobOrder::kAge, "j10"), {.columns = 160}));
  EXPECT_NE(text.find(" · shown: 0 of 1 running, 1 of 3 queued"), std::string::npos) << text;
}

TEST(TopArranged, ThatNoJobShownHereHasTheTextIsSaid) {
  const SiteView none = Arranged(SampleSite(), JobOrder::kAge, "nobody");
  const std::string text = Text(Shown(none, {}));
  EXPECT_NE(text.find("no job that is shown here has 'nobody'"), std::string::npos) << text;
}

TEST(TopPicture, TheLastMinutesStandBesideTheLoad) {
  SiteView site = SampleSite();
  site.loads["alpha/0"] = {0, 100};
  const std::string text = Text(Shown(site, {.columns = 160, .rows = 40}));
  EXPECT_NE(text.find("5 MIN"), std::string::npos) << text;
  EXPECT_NE(text.find("▁█"), std::string::npos) << text;
}

TEST(TopPicture, TheLastMinutesStandOn80ColumnsRatherThanTheTemperature) {
  SiteView site = SampleSite();
  const std::string without = Text(Shown(site, {}));
  EXPECT_NE(without.find("TEMP"), std::string::npos) << "no load is known\n" << without;
  site.loads["alpha/0"] = {0, 100, 0, 0, 0, 0, 0, 50, 100, 0};
  site.workers[0].mutable_device_sample()->set_memory_used_bytes(int64_t{120} << 30);
  *site.workers[1].mutable_device_sample()->add_foreign() = {};
  const std::string text = Text(Shown(site, {}));
  EXPECT_NE(text.find("3 MIN"), std::string::npos) << text;
  EXPECT_NE(text.find("  ▁▁▁▅█▁  "), std::string::npos) << text;
  EXPECT_EQ(text.find("TEMP"), std::string::npos) << text;
  EXPECT_NE(text.find("j2 tiny (anna)"), std::string::npos) << text;
}

TEST(TopKeys, ASlashFiltersByWhatIsTyped) {
  const SiteView site = SampleSite();
  TopState state;
  for (const char letter : {'/', 'q', 's', 'x'}) Obey(Letter(letter), site, &state);
  Obey({KeyKind::kBackspace}, site, &state);
  EXPECT_EQ(state.filter, "qs");
  const std::string text = Text(Shown(site, {}, state));
  EXPECT_NE(text.find("filter: qs_"), std::string::npos) << text;
  Obey({KeyKind::kEnter}, site, &state);
  EXPECT_EQ(Obey(Letter('q'), site, &state), TopAction::kQuit);
  EXPECT_NE(Text(Shown(site, {}, state)).find("only 'qs' (Esc: all)"), std::string::npos);
  Obey({KeyKind::kEscape}, site, &state);
  EXPECT_EQ(state.filter, "");
  for (int i = 0; i < 3; ++i) Obey(Letter('s'), site, &state);
  EXPECT_NE(Text(Shown(site, {}, state)).find("by time left · "), std::string::npos);
  for (int i = 0; i < 2; ++i) Obey(Letter('s'), site, &state);
  EXPECT_EQ(state.order, JobOrder::kAge);
}

// ---- the verb, on a screen in memory ----

struct ScreenScript {
  std::deque<std::optional<KeyPress>> keys;  // nullopt: the time passes
  std::vector<std::string> pictures;
  bool closed = false;
  std::function<void(size_t)> before_key;  // the number of pictures so far
};

class FakeScreen : public Screen {
 public:
  FakeScreen(ScreenScript* script, base::FakeClock* clock) : script_(script), clock_(clock) {}
  ~FakeScreen() override { script_->closed = true; }
  ScreenSize size() const override { return {.columns = 120, .rows = 30}; }
  void Draw(const std::vector<std::string>& rows) override {
    script_->pictures.push_back(Text(rows));
  }
  std::optional<KeyPress> WaitForKey(double seconds) override {
    if (script_->before_key) script_->before_key(script_->pictures.size());
    if (script_->keys.empty()) return KeyPress{KeyKind::kHangUp};
    const auto key = script_->keys.front();
    script_->keys.pop_front();
    if (!key) clock_->Advance(static_cast<int64_t>(seconds * 1e6) + 1);
    return key;
  }

 private:
  ScreenScript* script_;
  base::FakeClock* clock_;
};

class TopTest : public ClientTest {
 protected:
  TopTest() {
    const v1::ListResponse site = BusySite(), ended = EndedJobs();
    coordinator_.jobs.assign(site.jobs().begin(), site.jobs().end());
    coordinator_.jobs.push_back(ended.jobs(0));
    coordinator_.workers.assign(site.workers().begin(), site.workers().end());
    SetTerminal(120);
    surroundings_.open_screen = [this] { return std::make_unique<FakeScreen>(&script_, &clock_); };
  }

  const std::string& Last() const { return script_.pictures.back(); }
  static bool Has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  ScreenScript script_;
};

TEST_F(TopTest, IsLiveUntilSomebodyLeavesIt) {
  script_.keys = {std::nullopt, std::nullopt, Letter('q')};
  script_.before_key = [this](size_t) {
    for (v1::JobView& job : coordinator_.jobs) job.set_step(job.step() + 1);
  };
  EXPECT_EQ(Trainctl({"top"}).code, kExitOk);
  ASSERT_EQ(script_.pictures.size(), 3u);
  EXPECT_TRUE(Has(script_.pictures[0], " 31/62")) << script_.pictures[0];
  EXPECT_TRUE(Has(script_.pictures[1], " 32/62")) << script_.pictures[1];
  EXPECT_TRUE(Has(script_.pictures[2], " 33/62")) << script_.pictures[2];
  EXPECT_TRUE(script_.closed);
}

TEST_F(TopTest, BeginsWithTheLastMinutesThatTheCoordinatorKept) {
  for (const int32_t percent : {0, 100, 50})
    coordinator_.workers[0].mutable_load_history()->add_device_percent(percent);
  script_.keys = {Letter('q')};
  Trainctl({"top"});
  EXPECT_TRUE(Has(script_.pictures[0], " ▁█▅ ")) << script_.pictures[0];
  EXPECT_TRUE(Has(Trainctl({"top", "-1"}).out, " ▁█▅ "));
}

TEST_F(TopTest, AFilterHidesJobsAndTheSelectionFollows) {
  script_.keys = {Letter('/'), Letter('n'),         Letter('e'), Letter('x'),
                  Letter('t'), {{KeyKind::kEnter}}, Letter('c'), Letter('y')};
  Trainctl({"top"});
  EXPECT_FALSE(Has(script_.pictures[6], "tiny")) << script_.pictures[6];
  EXPECT_EQ(coordinator_.cancelled, std::vector<std::string>{"j11"});
}

TEST_F(TopTest, CancelsWhatWasConfirmedAndSaysSo) {
  script_.keys = {Letter('j'), Letter('c'), Letter('n'), Letter('c'), Letter('y')};
  Trainctl({"top"});
  EXPECT_EQ(coordinator_.cancelled, std::vector<std::string>{"j11"});
  EXPECT_TRUE(Has(script_.pictures[2], "End next-j11 (j11)? y ends it")) << script_.pictures[2];
  EXPECT_TRUE(Has(script_.pictures[3], "Nothing was cancelled."));
  EXPECT_TRUE(Has(Last(), "Asked next-j11 (j11) to end.")) << Last();
}

TEST_F(TopTest, ShowsALogWhoseBytesDoNotSteerTheTerminal) {
  coordinator_.log = {Chunk(0, "step 1\n\x1b[32mgreen\x1b[0m\n10 %\r20 %\n\x1b[2J\xff[2J\n")};
  script_.keys = {{{KeyKind::kEnter}}};
  Trainctl({"top"});
  EXPECT_TRUE(Has(Last(), "log of j2 tiny")) << Last();
  EXPECT_TRUE(Has(Last(), "[0] step 1\n[0] green\n[0] 20 %\n[0] \\u001b[2J [2J\n")) << Last();
}

TEST_F(TopTest, ALogIsReadOnFromWhereItWas) {
  coordinator_.tellings = {{.told = {Chunk(0, "one\ntw")}}, {.told = {Chunk(0, "o\n")}}};
  coordinator_.tellings[1].told[0].set_offset(6);
  script_.keys = {Letter('l'), std::nullopt};
  Trainctl({"top"});
  EXPECT_TRUE(Has(Last(), "[0] one\n[0] two\n")) << Last();
  ASSERT_EQ(coordinator_.logs_requests.size(), 2u);
  EXPECT_EQ(coordinator_.logs_requests[0].tail_lines(), 1000);
  EXPECT_FALSE(coordinator_.logs_requests[0].follow());
  EXPECT_EQ(coordinator_.logs_requests[1].from(0).offset(), 6);
}

TEST_F(TopTest, ACoordinatorThatIsGoneIsSaidAndFoundAgain) {
  script_.keys = {std::nullopt, std::nullopt, std::nullopt};
  script_.before_key = [this](size_t pictures) { coordinator_.unreachable = pictures == 1; };
  Trainctl({"top"});
  EXPECT_FALSE(Has(script_.pictures[0], "not as it is now"));
  EXPECT_TRUE(Has(script_.pictures[1], "not as it is now")) << script_.pictures[1];
  EXPECT_TRUE(Has(script_.pictures[1], "j2")) << "what was known stays";
  EXPECT_FALSE(Has(script_.pictures[2], "not as it is now")) << script_.pictures[2];
}

TEST_F(TopTest, WithoutACoordinatorNoScreenIsOpened) {
  coordinator_.unreachable = true;
  const Ended ended = Trainctl({"top"});
  EXPECT_EQ(ended.code, kExitUnreachable);
  EXPECT_TRUE(script_.pictures.empty());
}

v1::JobDetail TwoRanks() {
  v1::JobDetail detail;
  *detail.mutable_view() = RunningJob("j2", "tiny");
  v1::AttemptView& attempt = *detail.add_attempts();
  for (int rank = 0; rank < 2; ++rank) {
    v1::RankView& view = *attempt.add_ranks();
    view.set_rank(rank);
    view.set_worker("alpha/" + std::to_string(rank));
    view.set_phase("training");
    view.set_step(31);
    view.set_pid(4711 + rank);
  }
  for (const char* text : {"submitted", "started on alpha/0 alpha/1", "resumed\x1b[2J"}) {
    v1::JobEvent& event = *detail.add_events();
    event.set_time(1'000'000'000);
    event.set_text(text);
  }
  return detail;
}

TEST_F(TopTest, AJobThatIsNamedIsOpenWithItsRanksEventsAndLog) {
  coordinator_.details["j2"] = TwoRanks();
  coordinator_.log = {Chunk(0, "step 1\n")};
  Trainctl({"top", "--job", "tiny"});
  for (const char* part : {"log of j2 tiny", "RANK  DEVICE", "   1  alpha/1  training", "4712",
                           "started on alpha/0 alpha/1", "resumed\\u001b[2J", "[0] step 1"})
    EXPECT_TRUE(Has(Last(), part)) << part << "\n" << Last();
  const std::string once = Trainctl({"top", "-1", "--job", "j2"}).out;
  for (const char* part : {"log of j2 tiny", "RANK  DEVICE", "submitted", "[0] step 1"})
    EXPECT_TRUE(Has(once, part)) << part << "\n" << once;
  EXPECT_EQ(Json::parse(Trainctl({"top", "--job", "j2", "-o", "json"}).out)["jobs"].size(), 1u);
  EXPECT_EQ(Trainctl({"top", "--job", "nobody"}).code, kExitNotFound);
}

TEST_F(TopTest, OnceAndWithoutATerminalItIsPlainText) {
  ExpectGolden("top-once.txt", Trainctl({"top", "-1"}).out);
  EXPECT_TRUE(script_.pictures.empty());
  surroundings_.out_terminal = {};
  const std::string text = Trainctl({"top"}).out;
  EXPECT_TRUE(Has(text, "tiny"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_TRUE(script_.pictures.empty());
}

TEST_F(TopTest, AsJsonItHasTheRecordsOfStatusAndWorkers) {
  const Json json = Json::parse(Trainctl({"top", "-o", "json"}).out);
  EXPECT_EQ(json["schema"], "trainctl/v1");
  EXPECT_EQ(json["workers"].size(), 3u);
  EXPECT_EQ(json["workers"][0]["gpu"]["power_watts"], 612);
  EXPECT_EQ(json["jobs"][0]["id"], "j2");
  EXPECT_EQ(json["jobs"].size(), 5u);
}

}  // namespace
}  // namespace trainctl::client
