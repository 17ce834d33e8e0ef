// Questions about files, answered on threads of their own that are given up where a mount hangs.
// Answers come on the io_context's thread.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "common/base/result.h"

namespace trainctl::agent {

// Question: with a `path`, and the `owner` of what lies there.
template <class Question, class Reply>
class FileThreads {
 public:
  using Answer = std::function<void(base::Result<Reply>)>;
  using Work = std::function<base::Result<Reply>(const Question&)>;

  static constexpr size_t kMaxThreads = 4;
  static constexpr size_t kMaxThreadsOfOwner = kMaxThreads / 2;  // one's mount may hang
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxWaitingOfOwner = kMaxWaiting / 4;

  // work is called on threads that may outlive this object.
  explicit FileThreads(boost::asio::io_context& io, Work work,
                       std::chrono::milliseconds patience = std::chrono::seconds(20))
      : state_(std::make_shared<State>(io, std::move(work), patience)) {}
  // Waits for nothing; answers that are due never come.
  ~FileThreads() { state_->Close(); }
  FileThreads(const FileThreads&) = delete;
  FileThreads& operator=(const FileThreads&) = delete;

  // kExhausted: too many questions wait already, or too many of this owner. kUnavailable: no answer
  // within the patience.
  void Ask(Question question, Answer answer) {
    state_->Ask(std::move(question), std::move(answer));
  }

 private:
  // Shared with the threads, so that one that is given up finds it whenever it returns. Threads
  // touch work_ and Returned only.
  class State : public std::enable_shared_from_this<State> {
   public:
    State(boost::asio::io_context& io, Work work, std::chrono::milliseconds patience)
        : io_(&io), work_(std::move(work)), patience_(patience) {}

    void Ask(Question question, Answer answer) {
      if (const base::Status room = Room(question.owner); !room) return answer(room.error());
      const int64_t id = ++last_id_;
      const base::Error slow{base::Code::kUnavailable,
                             question.path + " does not answer: does its mount hang?"};
      Call& call = calls_.try_emplace(id, std::move(answer), *io_).first->second;
      call.timer.expires_after(patience_);
      call.timer.async_wait(
          [self = this->shared_from_this(), id, slow](boost::system::error_code error) {
            if (!error) self->Finish(id, slow);
          });
      waiting_.emplace_back(id, std::move(question));
      StartNext();
    }

    void Close() {
      const std::lock_guard lock(mutex_);
      io_ = nullptr;
      waiting_.clear();
      calls_.clear();
    }

   private:
    struct Call {
      Call(Answer then, boost::asio::io_context& io) : answer(std::move(then)), timer(io) {}
      Answer answer;
      boost::asio::steady_timer timer;
    };

    base::Status Room(const std::string& owner) const {
      if (waiting_.size() >= kMaxWaiting) {
        return base::Error{base::Code::kExhausted,
                           std::to_string(kMaxWaiting) + " questions wait already: try again"};
      }
      const auto of_owner = static_cast<size_t>(std::ranges::count_if(
          waiting_, [&](const auto& other) { return other.second.owner == owner; }));
      if (of_owner < kMaxWaitingOfOwner) return base::Ok{};
      return base::Error{base::Code::kExhausted, std::to_string(of_owner) + " questions of what " +
                                                     owner + " has saved wait already: try again"};
    }

    // In order of their coming, but for owners who have their share of the threads.
    void StartNext() {
      for (auto next = waiting_.begin(); next != waiting_.end() && threads_ < kMaxThreads;) {
        const std::string& owner = next->second.owner;
        if (calls_.contains(next->first) && threads_of_[owner] >= kMaxThreadsOfOwner) {
          ++next;
          continue;
        }
        auto [id, question] = std::move(*next);
        next = waiting_.erase(next);
        if (calls_.contains(id)) Start(id, std::move(question));  // else given up before its turn
      }
    }

    void Start(int64_t id, Question question) {
      ++threads_;
      ++threads_of_[question.owner];
      std::thread([self = this->shared_from_this(), id, question = std::move(question)] {
        self->Returned(id, question.owner, self->work_(question));
      }).detach();
    }

    // From a thread. Nobody listens any more where the object is gone.
    void Returned(int64_t id, const std::string& owner, base::Result<Reply> reply) {
      const std::lock_guard lock(mutex_);
      if (io_ == nullptr) return;
      boost::asio::post(
          *io_, [self = this->shared_from_this(), id, owner, reply = std::move(reply)]() mutable {
            --self->threads_;
            if (--self->threads_of_[owner] == 0) self->threads_of_.erase(owner);
            self->Finish(id, std::move(reply));
            self->StartNext();
          });
    }

    void Finish(int64_t id, base::Result<Reply> reply) {
      const auto call = calls_.extract(id);
      if (!call.empty()) call.mapped().answer(std::move(reply));
    }

    std::mutex mutex_;             // of io_
    boost::asio::io_context* io_;  // nullptr: the object is gone
    const Work work_;
    const std::chrono::milliseconds patience_;
    int64_t last_id_ = 0;
    size_t threads_ = 0;
    std::map<std::string, size_t> threads_of_;  // by owner
    std::map<int64_t, Call> calls_;             // not yet answered
    std::list<std::pair<int64_t, Question>> waiting_;
  };

  const std::shared_ptr<State> state_;
};

}  // namespace trainctl::agent
