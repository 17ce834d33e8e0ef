#include "server/coordinator/event_loop.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <utility>
#include <vector>

#include "common/base/check.h"

namespace trainctl::coordinator {

struct EventLoop::Periodic {
  boost::asio::steady_timer timer;
  std::chrono::milliseconds period;
  std::function<void()> work;
};

struct EventLoop::Asio {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard{io.get_executor()};
  std::vector<std::unique_ptr<Periodic>> periodic;
};

EventLoop::EventLoop() : asio_(std::make_unique<Asio>()) {}

EventLoop::~EventLoop() { Stop(); }

void EventLoop::Start() {
  CHECK(!thread_.joinable()) << "the loop runs already";
  thread_ = std::thread([this] { asio_->io.run(); });
}

void EventLoop::Post(std::function<void()> work) { boost::asio::post(asio_->io, std::move(work)); }

void EventLoop::Dispatch(std::function<void()> work) {
  boost::asio::dispatch(asio_->io, std::move(work));
}

void EventLoop::Every(std::chrono::milliseconds period, std::function<void()> work) {
  asio_->periodic.push_back(std::make_unique<Periodic>(
      Periodic{boost::asio::steady_timer(asio_->io), period, std::move(work)}));
  Arm(asio_->periodic.back().get());
}

void EventLoop::Arm(Periodic* periodic) {
  periodic->timer.expires_after(periodic->period);
  periodic->timer.async_wait([this, periodic](const boost::system::error_code& error) {
    if (error) return;  // cancelled: the loop is ending
    periodic->work();
    Arm(periodic);
  });
}

bool EventLoop::Call(std::function<void()> work) {
  if (!thread_.joinable()) return false;
  std::promise<void> done;
  Post([&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
  return true;
}

void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  CHECK(thread_.get_id() != std::this_thread::get_id()) << "the loop can't wait for itself";
  Post([this] { asio_->io.stop(); });
  thread_.join();
}

}  // namespace trainctl::coordinator
