// A copy of the site's database, onto the coordinator's host.
#include "server/rpc/coordinator_service.h"
#include "server/rpc/unary_call.h"

namespace trainctl::rpc {

auto CoordinatorService::Backup(Context* context, const v1::BackupRequest* request,
                                v1::BackupResponse* response) -> Unary* {
  return AskLoop<store::Backup>(
      {backend_, *context, "Backup", request->path()},
      [request] { return base::Result<std::string>(request->path()); },
      [this](const Permit& permit, std::string path, auto answer) {
        backend_.backups.Ask(path, [this, permit, path, answer](base::Result<store::Backup> made) {
          if (made) backend_.coordinator.RecordChange(permit.caller, "backup", path);
          answer(std::move(made));
        });
      },
      [response](const store::Backup& made) {
        response->set_bytes(made.bytes);
        response->set_jobs(made.jobs);
      });
}

}  // namespace trainctl::rpc
