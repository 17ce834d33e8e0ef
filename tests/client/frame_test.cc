#include "client/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>

#include "client/screen.h"
#include "client/show/escaping.h"
#include "client/top/picture.h"
#include "client/top/spark_line.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

// A terminal in memory, as far as frames steer one: each column with its style.
class Tube {
 public:
  void Take(std::string_view bytes) {
    while (!bytes.empty()) bytes.remove_prefix(TakeOne(bytes));
  }
  bool operator==(const Tube& other) const { return cells_ == other.cells_; }

 private:
  size_t TakeOne(std::string_view bytes) {
    if (!bytes.starts_with("\x1b[")) {
      size_t size = 1;
      while (size < bytes.size() && (static_cast<unsigned char>(bytes[size]) & 0xC0) == 0x80)
        ++size;
      cells_[{row_, column_++}] = style_ + std::string(bytes.substr(0, size));
      return size;
    }
    const size_t end = bytes.find_first_not_of("0123456789;", 2);
    const std::string numbers(bytes.substr(2, end - 2));
    switch (bytes[end]) {
      case 'H':
        row_ = std::stoi(numbers);
        column_ = std::stoi(numbers.substr(numbers.find(';') + 1));
        break;
      case 'K': Erase(numbers == "2" ? 1 : column_); break;
      case 'm': style_ = numbers == "0" ? "" : style_ + "<" + numbers + ">"; break;
      default: ADD_FAILURE() << "ESC [ " << numbers << bytes[end];
    }
    return end + 1;
  }

  void Erase(int from) {
    std::erase_if(cells_, [&](const auto& cell) {
      return cell.first.first == row_ && cell.first.second >= from;
    });
  }

  int row_ = 1, column_ = 1;
  std::string style_;
  std::map<std::pair<int, int>, std::string> cells_;
};

using Rows = std::vector<std::string>;

Tube DrawnAnew(const Rows& rows) {
  Tube tube;
  tube.Take(FrameBytes({}, rows));
  return tube;
}

TEST(Frame, ATerminalShowsTheSameAsIfItWereDrawnAnew) {
  std::mt19937 random(7);  // NOLINT: the same each time
  const Rows pieces = {"a",
                       "b",
                       " ",
                       "       ",
                       "█",
                       "é",
                       "▁▂▃",
                       "\x1b[1mbold\x1b[0m",
                       "\x1b[31mred\x1b[0m",
                       "\x1b[2m\x1b[31mx\x1b[0m",
                       "名",
                       "0123456789"};
  const auto row = [&] {
    std::string text;
    for (auto i = random() % 9; i > 0; --i) text += pieces[random() % pieces.size()];
    return text;
  };
  Rows drawn(12);
  Tube tube;
  for (int frame = 0; frame < 2000; ++frame) {
    Rows rows = drawn;
    for (std::string& text : rows) {
      if (random() % 3 == 0) text = row();
    }
    tube.Take(FrameBytes(drawn, rows));
    ASSERT_TRUE(tube == DrawnAnew(rows)) << "frame " << frame;
    drawn = rows;
  }
}

TEST(Frame, OnlyTheColumnsThatChangedAreSent) {
  EXPECT_EQ(FrameBytes({"step 10/99 loss 2.5"}, {"step 10/99 loss 2.5"}), "");
  EXPECT_EQ(FrameBytes({"step 10/99 of tiny, loss 2.5"}, {"step 11/99 of tiny, loss 2.4"}),
            "\x1b[1;7H1\x1b[1;28H4");
  EXPECT_EQ(FrameBytes({"longer", "x"}, {"long", "x"}), "\x1b[1;5H\x1b[K");
  EXPECT_EQ(FrameBytes({"名 1"}, {"名 2"}), "\x1b[1;1H\x1b[2K名 2\x1b[0m");
  EXPECT_EQ(FrameBytes({"µ ± … │ ▁ ⠿ 1"}, {"µ ± … │ ▁ ⠿ 2"}), "\x1b[1;13H2");
}

// What a terminal shows of bytes that are no character, is its own choice.
TEST(Frame, ARowWithBytesThatAreNoCharacterIsSentWhole) {
  for (const std::string bytes : {"\xC3(", "\xE2\x94", "\x80", "\xC2\x85"}) {
    const std::string row = bytes + " step 2";
    EXPECT_EQ(FrameBytes({bytes + " step 1"}, {row}), "\x1b[1;1H\x1b[2K" + row + "\x1b[0m");
  }
}

// ---- what top sends ----

// A half minute is five frames here. The mean of the last one goes on with each.
void AddLoads(int frame, int device, v1::LoadHistory* loads) {
  for (int i = kLoadBuckets - 1; i >= 0; --i) {
    const int now = i == 0 ? frame : 0;
    const int percent = (device * 29 + (frame / 5 - i + kLoadBuckets) * 37 + now * 13) % 101;
    loads->add_device_percent(percent);
    loads->add_host_percent(100 - percent);
  }
}

v1::ListResponse LargeList(int frame) {
  std::mt19937 random(static_cast<unsigned>(frame));  // NOLINT: the same each time
  v1::ListResponse site;
  for (int i = 0; i < 256; ++i) {
    v1::WorkerView& worker = *site.add_workers();
    worker = CpuWorker("host-" + std::to_string(i / 8) + "/" + std::to_string(i % 8), "BUSY");
    worker.set_job("j" + std::to_string(i / 4));
    worker.mutable_device()->set_kind("cuda");
    worker.mutable_device()->set_name("NVIDIA H200");
    worker.mutable_device()->set_memory_bytes(int64_t{140} << 30);
    v1::DeviceSample& sample = *worker.mutable_device_sample();
    sample.set_utilization_percent(static_cast<double>(random() % 101));
    sample.set_memory_used_bytes(static_cast<int64_t>(random() % 140) << 30);
    sample.set_power_watts(static_cast<double>(random() % 700));
    sample.set_temperature_celsius(static_cast<double>(30 + random() % 50));
    AddLoads(frame, i, worker.mutable_load_history());
  }
  for (int i = 0; i < 64; ++i) {
    v1::JobView& job = *site.add_jobs();
    job = RunningJob("j" + std::to_string(i), "tiny-" + std::to_string(i));
    job.set_step(frame * 7 + i);
    job.set_loss(static_cast<double>(random() % 5000) / 1000);
    job.set_tokens_per_second(static_cast<double>(random() % 90000));
  }
  return site;
}

SiteView LargeSite(int frame) {
  std::mt19937 random(static_cast<unsigned>(frame) + 1);  // NOLINT: the same each time
  const v1::ListResponse site = LargeList(frame);
  SiteView view = SiteViewOf("127.0.0.1:7070", (1'000'000 + frame) * int64_t{1'000'000}, site, {});
  for (const v1::JobView& job : site.jobs()) {
    HeldMemory& memory = view.memory[job.id()];
    memory.limit = int64_t{140} << 30;
    memory.predicted_peak = int64_t{120} << 30;
    for (const auto kind : {&job::MemoryByKind::params, &job::MemoryByKind::grads,
                            &job::MemoryByKind::optimizer, &job::MemoryByKind::other})
      memory.whole += memory.kinds.*kind = static_cast<int64_t>(random() % 35) << 30;
  }
  return view;
}

Rows Sent(const SiteView& site, const Paper& paper) {
  TopState state{.all_devices = true};
  Settle(site, &state);
  Rows rows;
  for (const std::string& row : SitePicture(site, paper, &state)) {
    std::ostringstream bytes;
    EscapingStream(&bytes, EscapingBuffer::Kind::kOwn) << row;
    rows.push_back(bytes.str());
  }
  return rows;
}

bool Has(const Rows& rows, const std::string& text) {
  return std::ranges::any_of(
      rows, [&](const std::string& row) { return row.find(text) != std::string::npos; });
}

constexpr size_t kMostBytesASecond = 20'000;

TEST(Frame, ALargeSiteThatChangesAllTheTimeGoesThroughASlowLine) {
  for (const Paper& paper : {Paper{.columns = 80, .rows = 24, .colour = true},
                             Paper{.columns = 200, .rows = 60, .colour = true},
                             Paper{.columns = 80, .rows = 24, .unicode = false}}) {
    Rows drawn;
    for (int frame = 0; frame < 10; ++frame) {
      const Rows rows = Sent(LargeSite(frame), paper);
      EXPECT_EQ(rows.size(), static_cast<size_t>(paper.rows));
      EXPECT_LE(FrameBytes(drawn, rows).size(), kMostBytesASecond)
          << paper.columns << " columns, frame " << frame;
      EXPECT_GT(FrameBytes(drawn, rows).size(), 100u);
      if (paper.columns == 200) {
        const SiteView site = LargeSite(frame);
        EXPECT_TRUE(Has(
            rows, ShortMemoryBar(site.memory.at("j0"), {.columns = 12, .unicode = paper.unicode})));
        EXPECT_TRUE(Has(rows, SparkLine(site.loads.at("host-0/0"), paper.unicode)));
      }
      drawn = rows;
    }
    RecordProperty("bytes_of_" + std::to_string(paper.columns),
                   static_cast<int>(FrameBytes(Sent(LargeSite(1), paper), drawn).size()));
    EXPECT_LE(FrameBytes(drawn, Sent(LargeSite(9), paper)).size(), 0u) << "nothing has changed";
  }
}

// A terminal that counts what comes in each second until the next refresh.
struct Counted {
  std::vector<size_t> bytes;  // of each second
  double seconds = 0;
};

class CountingScreen : public Screen {
 public:
  CountingScreen(std::deque<KeyPress> keys, base::FakeClock* clock, Counted* counted,
                 std::function<void()> on_wait)
      : keys_(std::move(keys)), clock_(clock), counted_(counted), on_wait_(std::move(on_wait)) {}

  ScreenSize size() const override { return {.columns = 200, .rows = 60}; }
  void Draw(const std::vector<std::string>& rows) override {
    Rows sent;
    for (const std::string& row : rows) {
      std::ostringstream bytes;
      EscapingStream(&bytes, EscapingBuffer::Kind::kOwn) << row;
      sent.push_back(bytes.str());
    }
    counted_->bytes.resize(static_cast<size_t>(counted_->seconds) + 1);
    counted_->bytes.back() += FrameBytes(drawn_, sent).size();
    drawn_ = std::move(sent);
  }
  // No key but those at first; then the time is over.
  std::optional<KeyPress> WaitForKey(double seconds) override {
    constexpr double kWatched = 12;
    if (counted_->seconds >= kWatched) return KeyPress{KeyKind::kHangUp};
    if (!keys_.empty()) {
      const KeyPress key = keys_.front();
      keys_.pop_front();
      return key;
    }
    on_wait_();
    counted_->seconds += seconds;
    clock_->Advance(static_cast<int64_t>(seconds * 1e6) + 1);
    return std::nullopt;
  }

 private:
  std::deque<KeyPress> keys_;
  base::FakeClock* clock_;
  Counted* counted_;
  std::function<void()> on_wait_;
  Rows drawn_;
};

class TopOnASlowLine : public ClientTest {
 protected:
  Counted Watched(std::deque<KeyPress> keys) {
    Counted counted;
    Change();
    SetTerminal(200);
    surroundings_.out_terminal.layout.colour = true;
    surroundings_.open_screen = [&] {
      return std::make_unique<CountingScreen>(std::move(keys), &clock_, &counted,
                                              [this] { Change(); });
    };
    EXPECT_EQ(Trainctl({"top"}).code, 0);
    return counted;
  }

  // All numbers of all devices and jobs, more often than it is looked.
  void Change() {
    const v1::ListResponse site = LargeList(++changes_);
    coordinator_.jobs.assign(site.jobs().begin(), site.jobs().end());
    coordinator_.workers.assign(site.workers().begin(), site.workers().end());
  }

  int changes_ = 0;
};

TEST_F(TopOnASlowLine, RefreshesNoMoreOftenThanTheLineCarries) {
  const KeyPress devices{KeyKind::kCharacter, 'd'};
  for (const auto& keys : {std::deque<KeyPress>{}, {devices}}) {
    const Counted counted = Watched(keys);
    ASSERT_GE(counted.bytes.size(), 12u);
    // What is painted at first is one picture more.
    for (size_t second = 1; second < counted.bytes.size(); ++second) {
      EXPECT_LE(counted.bytes[second], kMostBytesASecond) << "second " << second;
      EXPECT_GT(counted.bytes[second], 100u) << "nothing was sent in second " << second;
    }
    EXPECT_LE(counted.bytes[0], 2 * kMostBytesASecond);
    RecordProperty("bytes_of_a_second", static_cast<int>(std::ranges::max(counted.bytes)));
  }
}

// ---- its hosts and devices on a small screen ----

TEST(TopKeys, HostsAndDevicesScrollWhereNotAllFit) {
  const SiteView site = LargeSite(0);
  TopState state;
  const auto text = [&] {
    std::string rows;
    for (const std::string& row : SitePicture(site, {}, &state)) rows += row + "\n";
    return rows;
  };
  const auto press = [&](char key) { Obey({KeyKind::kCharacter, key}, site, &state); };
  EXPECT_NE(text().find("host-0 "), std::string::npos) << text();
  EXPECT_EQ(text().find("host-31 "), std::string::npos) << text();
  std::string seen;
  for (int i = 0; i < 10; ++i) {
    seen += text();
    press('>');
  }
  for (int host = 0; host < 32; ++host)
    EXPECT_NE(seen.find("host-" + std::to_string(host) + " "), std::string::npos) << host;
  EXPECT_NE(text().find("host-31 "), std::string::npos) << text();
  EXPECT_NE(text().find(" above · < > scroll"), std::string::npos) << text();
  press('<');
  EXPECT_EQ(text().find("host-31 "), std::string::npos) << text();
  press('d');
  EXPECT_NE(text().find("DEVICE "), std::string::npos) << text();
}

}  // namespace
}  // namespace trainctl::client
