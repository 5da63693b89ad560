"""Prints what became of the members that benchmarks/drains has asked to end."""

import collections
import json
import sys

asked, undisturbed, drained = sys.argv[1:]
events = [json.loads(line) for line in open(drained + "events.jsonl") if line.endswith("}\n")]
spans = json.load(open(drained + "timeline.json"))
spans = spans["traceEvents"] if isinstance(spans, dict) else spans
names = {s["pid"]: s["args"]["name"] for s in spans if s.get("name") == "process_name"}

# The ends of all gradients, in seconds since 1970, of all workers.
steps = collections.Counter()
ends = []
for span in spans:
    if span.get("ph") == "X" and span["name"] in ("compute", "update"):
        steps[names[span["pid"]].split(" (")[0], span["name"], span["args"]["step"]] += 1
        ends.append((span["ts"] + span["dur"]) / 1e6)
ends.sort()

print("%-10s %18s %18s" % ("member", "handed over after", "without a step"))
left = [e for e in events if e["type"] == "memberLeft"]
for line in open(asked):
    millis, member, _ = line.split()
    role, rank = member.split("-")
    after = [
        e["timeMillis"] for e in events
        if e["type"] == "memberJoined" and e["timeMillis"] > int(millis)
        and e["role"] == role and str(e["rank"]) == rank
    ]
    if not after:
        print("%-10s not handed over" % member)
        continue
    near = [t for t in ends if int(millis) / 1e3 - 2 < t < after[0] / 1e3 + 30]
    gap = max(b - a for a, b in zip(near, near[1:]))
    print("%-10s %16.1f s %16.2f s" % (member, (after[0] - int(millis)) / 1e3, gap))

orderly = sum(e["reason"] == "stopped" for e in left)
summaries = [json.load(open(folder + "summary.json")) for folder in (undisturbed, drained)]
otherwise = [e for e in left if e["reason"] not in ("stopped", "finished")]
print("%d members left as asked, %d otherwise before the end" % (orderly, len(otherwise)))
for event in otherwise:
    print("  %(role)s %(rank)d: %(reason)s" % event)
print("%d gradients, of which %d were computed again" % (
    len(steps), sum(steps.values()) - len(steps)))
print("updates: %s" % json.dumps(summaries[1].get("updates")))
print("parameters: %s, undisturbed %s" % tuple(s["parametersHash"] for s in reversed(summaries)))
