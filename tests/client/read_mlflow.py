"""Prints what MLflow itself reads from a file store: experiments, runs, tags, params, curves."""

import os
import sys

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"

import mlflow  # noqa: E402

client = mlflow.MlflowClient(tracking_uri=sys.argv[1])
for experiment in client.search_experiments():
    print("experiment", experiment.name)
    for run in client.search_runs([experiment.experiment_id]):
        info, data = run.info, run.data
        print("run", info.run_name, info.user_id, info.status, info.start_time, info.end_time)
        for key, value in sorted(data.tags.items()):
            print("tag", key, value)
        print("param train.micro_batch_size", data.params.get("train.micro_batch_size"))
        for key in sorted(data.metrics):
            for point in client.get_metric_history(info.run_id, key):
                print("point", key, point.timestamp, point.value, point.step)
        print("artifacts", *(file.path for file in client.list_artifacts(info.run_id)))
