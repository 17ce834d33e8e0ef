#include "client/context.h"

#include <utility>

#include "client/exit_code.h"
#include "client/naming.h"
#include "client/show/calendar_time.h"

namespace trainctl::client {

base::Result<Api*> NeedApi(Context& context) {
  if (context.api != nullptr) return context.api.get();
  return base::Error{
      base::Code::kUnavailable,
      "no coordinator is known: start one here with trainctl local up, or name it with "
      "--server HOST:PORT, TRAINCTL_SERVER or trainctl config set server"};
}

base::Result<v1::GetResponse> GetJobs(Context& context, const std::string& job) {
  v1::GetRequest request;
  request.set_job(job);
  return GetJobs(context, request);
}

base::Result<v1::GetResponse> GetJobs(Context& context, const v1::GetRequest& request) {
  const base::Result<Api*> api = NeedApi(context);
  if (!api.ok()) return api.error();
  base::Result<v1::GetResponse> response = (*api)->Get(request);
  if (!response.ok() && response.error().code == base::Code::kNotFound)
    return NoSuchJob(context, {request.job()});
  return response;
}

base::Result<v1::JobDetail> GetOneJob(Context& context, const std::string& job) {
  base::Result<v1::GetResponse> response = GetJobs(context, job);
  if (!response.ok()) return response.error();
  if (response->jobs_size() == 1) return std::move(*response->mutable_jobs(0));
  return base::Error{
      base::Code::kInvalid,
      job + " is a group of " + std::to_string(response->jobs_size()) + " jobs: name one of them"};
}

int Fail(Context& context, const base::Error& error) {
  context.err << Styled("trainctl:", Style::kBad, context.surroundings.err_terminal.layout.colour)
              << " " << InLocalTime(error.message) << std::endl;
  return ExitCodeOf(error.code);
}

void Warn(Context& context, const std::string& message) {
  context.err << Styled("warning:", Style::kWarning,
                        context.surroundings.err_terminal.layout.colour)
              << " " << InLocalTime(message) << std::endl;
}

void Say(Context& context, const std::string& text) {
  if (context.for_people()) context.out << text << std::flush;
}

int Tell(Context& context, const std::string& words, const Listing& listing) {
  if (!context.for_people()) return Print(context, listing);
  Say(context, words);
  return kExitOk;
}

int Print(Context& context, const Listing& listing) {
  context.out << Render(listing, context.format, context.surroundings.out_terminal.layout)
              << std::flush;
  return kExitOk;
}

}  // namespace trainctl::client
