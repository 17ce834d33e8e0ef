#include "client/verbs/verb.h"

namespace trainctl::client {

// The makers, one in each verb's own file.
std::unique_ptr<Verb> MakeAdmin();
std::unique_ptr<Verb> MakeAdvise();
std::unique_ptr<Verb> MakeArtifacts();
std::unique_ptr<Verb> MakeCancel();
std::unique_ptr<Verb> MakeClass();
std::unique_ptr<Verb> MakeCompare();
std::unique_ptr<Verb> MakeCompletion();
std::unique_ptr<Verb> MakeConfig();
std::unique_ptr<Verb> MakeContext();
std::unique_ptr<Verb> MakeDescribe();
std::unique_ptr<Verb> MakeDoctor();
std::unique_ptr<Verb> MakeDrain();
std::unique_ptr<Verb> MakeExplain();
std::unique_ptr<Verb> MakeExport();
std::unique_ptr<Verb> MakeFence();
std::unique_ptr<Verb> MakeGenerate();
std::unique_ptr<Verb> MakeImport();
std::unique_ptr<Verb> MakeLease();
std::unique_ptr<Verb> MakeLocal();
std::unique_ptr<Verb> MakeLogs();
std::unique_ptr<Verb> MakeManual();
std::unique_ptr<Verb> MakeMetrics();
std::unique_ptr<Verb> MakePlot();
std::unique_ptr<Verb> MakeQuickstart();
std::unique_ptr<Verb> MakeRecipes();
std::unique_ptr<Verb> MakeReport();
std::unique_ptr<Verb> MakeResume();
std::unique_ptr<Verb> MakeRm();
std::unique_ptr<Verb> MakeSlurm();
std::unique_ptr<Verb> MakeStatus();
std::unique_ptr<Verb> MakeSubmit();
std::unique_ptr<Verb> MakeSweep();
std::unique_ptr<Verb> MakeTop();
std::unique_ptr<Verb> MakeUi();
std::unique_ptr<Verb> MakeUndrain();
std::unique_ptr<Verb> MakeWait();
std::unique_ptr<Verb> MakeWorkers();

namespace {

constexpr VerbRow kVerbs[] = {
    {"quickstart", "a site on this machine, two runs of a small model, and their comparison",
     "  trainctl quickstart\n", MakeQuickstart},
    {"local", "a coordinator and workers of this machine in the background, for one person",
     "  trainctl local up\n"
     "  trainctl local up --dir /tmp/site --workers 2 --cpu\n"
     "  trainctl local down\n",
     MakeLocal},
    {"slurm", "a coordinator and workers in an allocation of Slurm, on a cluster that has it",
     "  trainctl slurm up --nodes 2 --gpus 4 --time 1:00:00\n"
     "  trainctl slurm up --nodes 2 --cpu 2 -- --partition=debug\n"
     "  trainctl slurm down\n"
     "  trainctl slurm read -- export j1 results\n",
     MakeSlurm},
    {"submit", "submit a job, or a lab file as a group of jobs",
     "  trainctl submit job.json --wait\n"
     "  trainctl submit job.json --dry-run\n"
     "  trainctl submit job.json --train.micro_batch_size 4 --name tiny-mb4\n"
     "  trainctl submit job.json --set optimizer.lr=1e-4 --set devices=2\n"
     "  trainctl submit second.json --after j12\n"
     "  trainctl submit lab.json --within lab2 --dry-run\n"
     "  trainctl submit job.json --matrix optimizer.lr=1e-4,2e-4 --matrix data.seed=1,2\n"
     "  trainctl submit lab.json --wait && trainctl compare\n"
     "  trainctl recipes show single-4 | trainctl submit - --dry-run\n",
     MakeSubmit},
    {"sweep", "one job for each value of a setting; the curve of time and memory over it",
     "  trainctl sweep job.json --matrix train.micro_batch_size=1,2,4,8 --stop-at-oom\n"
     "  trainctl sweep job.json --matrix train.micro_batch_size=1,2,4 --matrix "
     "precision=bf16-true,bf16-mixed --wait\n"
     "  trainctl sweep job.json --matrix optimizer.lr=1e-4,2e-4,4e-4 --train.max_steps 50 "
     "--dry-run\n",
     MakeSweep},
    {"advise", "other ways to run the same training: time against memory, without running",
     "  trainctl advise job.json\n"
     "  trainctl advise job.json --allow lora,precision --price 2.50/GPUh\n"
     "  trainctl advise job.json --all -o csv > ways.csv\n",
     MakeAdvise},
    {"recipes", "job files that come with trainctl: the labs' experiments, ready to run",
     "  trainctl recipes\n"
     "  trainctl recipes ls lab-single\n"
     "  trainctl recipes submit single-4 --wait\n"
     "  trainctl recipes submit lab-single --dry-run\n"
     "  trainctl recipes submit single-4 --model.path ~/models/TinyLlama --model.init pretrained\n"
     "  trainctl recipes copy single-4 .\n",
     MakeRecipes},
    {"import", "a job file out of a LitGPT recipe and the overrides of its command line",
     "  trainctl import litgpt config.yaml --train.micro_batch_size 4 -o job.json\n"
     "  trainctl import litgpt litgpt finetune_lora checkpoints/TinyLlama --config lora.yaml "
     "--lora_r 8 -o job.json\n"
     "  trainctl import litgpt finetune_full checkpoints/TinyLlama --data JSON --data.json_path "
     "rows.json | tee job.json\n",
     MakeImport},
    {"status", "the queue and what runs where",
     "  trainctl status\n"
     "  trainctl status -w\n"
     "  trainctl status j12 my-lab -o json\n"
     "  trainctl status --unfinished -o name\n",
     MakeStatus},
    {"top", "the site live: devices with their load, jobs and the queue; keys for logs and cancel",
     "  trainctl top\n"
     "  trainctl top -1\n"
     "  trainctl top --job j12\n"
     "  trainctl top -o json\n",
     MakeTop},
    {"ui", "the address of the dashboard: the site, jobs and comparisons in a browser",
     "  trainctl ui\n"
     "  xdg-open \"$(trainctl ui)\"\n",
     MakeUi},
    {"describe", "everything about a job: settings, attempts, outcome, memory, events",
     "  trainctl describe j12\n"
     "  trainctl describe tiny-bf16 -o json\n",
     MakeDescribe},
    {"logs", "what the ranks wrote",
     "  trainctl logs j12\n"
     "  trainctl logs j12 -f\n"
     "  trainctl logs j12 --rank 0 --tail 50\n",
     MakeLogs},
    {"wait", "wait for jobs to end; the exit status says how",
     "  trainctl wait j12\n"
     "  trainctl wait my-lab --timeout 2h\n"
     "  trainctl wait j12 j13 && trainctl compare j12 j13\n",
     MakeWait},
    {"cancel", "end jobs or groups",
     "  trainctl cancel j12\n"
     "  trainctl cancel my-lab\n",
     MakeCancel},
    {"rm", "forget jobs that have ended, with their metrics and logs, by name or by rule",
     "  trainctl rm j12 --yes\n"
     "  trainctl rm --older-than 30d --state failed,cancelled --dry-run\n"
     "  trainctl rm --group my-lab-sweep --outputs --yes\n",
     MakeRm},
    {"resume", "a new job that goes on from an ended one's last checkpoint",
     "  trainctl resume j12 --wait\n"
     "  trainctl resume j12 --train.max_steps 2000\n"
     "  trainctl resume j12 --set devices=2 --dry-run\n",
     MakeResume},
    {"generate", "texts that the model which a job has saved makes of prompts, as they come",
     "  trainctl generate j12 --prompt 'Once upon a time'\n"
     "  trainctl generate my-run --prompt 'Dear' --prompt 'Hello' --max-new-tokens 200\n"
     "  trainctl generate j12 --prompt 'Write a poem.' --temperature 0.8 --seed 7\n",
     MakeGenerate},
    {"compare", "runs side by side: what was changed, time, memory, throughput, loss",
     "  trainctl compare                     the latest group\n"
     "  trainctl compare j12 j13 j14\n"
     "  trainctl compare my-lab --base tiny-fp32\n"
     "  trainctl compare my-lab -o md > table.md\n"
     "  trainctl compare my-lab -o table.html\n",
     MakeCompare},
    {"class",
     "for who teaches: who has run which experiment of a lab, how it ended, and its numbers",
     "  trainctl class lab.json\n"
     "  trainctl class lab.json --users anna,bob --reference ~/runs/my-lab\n"
     "  trainctl class lab.json --users-file class.txt -o csv > grades.csv\n",
     MakeClass},
    {"plot", "curves of a run or of several, in the terminal or as a picture",
     "  trainctl plot j12\n"
     "  trainctl plot my-lab --metric loss,val_loss --log\n"
     "  trainctl plot j12 j13 --metric memory_allocated_bytes --rank 0 --time\n"
     "  trainctl plot my-lab -o loss.svg\n",
     MakePlot},
    {"metrics", "the points of a run's curves, one a line",
     "  trainctl metrics j12 --name loss\n"
     "  trainctl metrics j12 --name loss,val_loss -o csv > loss.csv\n"
     "  trainctl metrics j12 --name gpu_utilization_percent --rank 0\n",
     MakeMetrics},
    {"export",
     "all that is known of a job or group as a folder of files, for when the site is gone",
     "  trainctl export j12 ~/runs/tiny\n"
     "  trainctl export my-lab ~/runs/my-lab\n"
     "  trainctl export my-lab ~/runs/my-lab --overwrite\n"
     "  trainctl export my-lab --tensorboard ~/runs/events\n"
     "  trainctl export my-lab --mlflow ~/runs/mlruns\n"
     "  trainctl export my-lab --wandb ~/runs/wandb\n",
     MakeExport},
    {"report", "a job or group as one page to hand in: question, changes, outcomes, curves",
     "  trainctl report my-lab -o report.html\n"
     "  trainctl report j12 -o report.md\n"
     "  trainctl report my-lab -o report.pdf\n",
     MakeReport},
    {"artifacts", "what jobs have saved: list it, or copy it to this machine",
     "  trainctl artifacts ls j12\n"
     "  trainctl artifacts get j12 ~/models/tiny\n"
     "  trainctl artifacts get j12 step-100 ~/models/tiny-100\n",
     MakeArtifacts},
    {"workers", "the site: every device, who holds it, its load",
     "  trainctl workers\n"
     "  trainctl workers -o json\n"
     "  trainctl workers remove node3/0\n",
     MakeWorkers},
    {"lease", "devices for your jobs alone, from a start to an end",
     "  trainctl lease find --gpus 4 --for 3h\n"
     "  trainctl lease create lab2 --gpus 4 --start '2026-12-01 14:00' --for 3h\n"
     "  trainctl lease ls\n"
     "  trainctl lease extend lab2 --for 1h\n"
     "  trainctl lease calendar --ics > leases.ics\n"
     "  trainctl submit lab.json --within lab2\n",
     MakeLease},
    {"drain", "nothing new is placed on a device, or on a host; what runs there goes on",
     "  trainctl drain node3/0 --reason 'a fan is broken'\n"
     "  trainctl drain node3\n",
     MakeDrain},
    {"undrain", "a drained device or host is used again",
     "  trainctl undrain node3/0\n  trainctl undrain node3 --faults\n", MakeUndrain},
    {"fence",
     "vouch that a lost worker's host runs nothing any more, so that its job can start again",
     "  trainctl fence node3/0 --yes\n", MakeFence},
    {"context", "sites that are reached with TLS, by name: which there are, and which is meant",
     "  trainctl context add lab --address gpu-host:7443 --ca ca.pem --token-file token\n"
     "  trainctl context use lab\n"
     "  trainctl context ls\n",
     MakeContext},
    {"config", "what trainctl means where nothing else says it: the server or the context in use",
     "  trainctl config\n"
     "  trainctl config set server 127.0.0.1:7070\n"
     "  trainctl config get server\n"
     "  trainctl config unset server\n",
     MakeConfig},
    {"admin", "for admins: tokens of people and workers, backups, and who asked for which change",
     "  trainctl admin token create anna --role user --for 90d --to anna.token\n"
     "  trainctl admin token create ci --role user --scope submit,read --to ci.token\n"
     "  trainctl admin token ls\n"
     "  trainctl admin token revoke 3\n"
     "  trainctl admin worker-token gpu-1 --to join.token\n"
     "  trainctl admin revoke-host gpu-1\n"
     "  trainctl admin audit --last 1000 -o csv > audit.csv\n"
     "  trainctl admin backup /var/backups/trainctl-$(date +%F).db\n",
     MakeAdmin},
    {"doctor", "is this host fit to train, and does the coordinator answer",
     "  trainctl doctor\n"
     "  trainctl doctor --server 127.0.0.1:7070\n",
     MakeDoctor},
    {"explain", "why a job waits or ended so; or a paragraph on precision, out of memory, …",
     "  trainctl explain j12\n"
     "  trainctl explain\n"
     "  trainctl explain oom\n"
     "  trainctl explain micro batch\n",
     MakeExplain},
    {"completion", "completion of verbs and options for bash or zsh",
     "  source <(trainctl completion bash)\n"
     "  trainctl completion zsh > ~/.zfunc/_trainctl\n",
     MakeCompletion},
    {"manual", "man pages of trainctl and its verbs, written into a folder",
     "  trainctl manual ~/.local/share/man/man1 && man trainctl-submit\n", MakeManual},
};

}  // namespace

std::span<const VerbRow> Verbs() { return kVerbs; }

const VerbRow* FindVerb(std::string_view name) {
  for (const VerbRow& verb : kVerbs) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

}  // namespace trainctl::client
