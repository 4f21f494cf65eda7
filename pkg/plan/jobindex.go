package plan

import (
	"strconv"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

const (
	// jobShard, before a slash and the number of shards, is the shard of a pod of an Indexed Job: "job/4".
	jobShard = "job"
	// jobIndex is the variable in which Kubernetes gives a pod its index, from 0.
	jobIndex = "JOB_COMPLETION_INDEX"
)

// ParseJobShard reads a shard such as "2/4" or, in a pod of an Indexed Job of Kubernetes, "job/4": the first
// pod then has the first shard. getenv reads the environment.
func ParseJobShard(text string, getenv func(string) string) (Shard, error) {
	count, ok := strings.CutPrefix(text, jobShard+"/")
	if !ok {
		return ParseShard(text)
	}
	value := getenv(jobIndex)
	if value == "" {
		return Shard{}, advice.New(advice.Input, "run it in a Job with completionMode: Indexed, or write I/N, such as 2/4 for the second of four", "%s needs the variable %s, which is not set", quoted(text), jobIndex)
	}
	index, err := strconv.Atoi(value)
	if err != nil || index < 0 || index >= MaxShards {
		return Shard{}, advice.New(advice.Input, "Kubernetes sets it in the pods of an Indexed Job, to 0 in the first", "the variable %s is %s, which is not an index from 0 to %d", jobIndex, quoted(value), MaxShards-1)
	}
	s, err := ParseShard(strconv.Itoa(index+1) + "/" + count)
	if n, bad := strconv.Atoi(count); err != nil && bad == nil && n > 0 && n <= MaxShards && index >= n {
		return Shard{}, advice.New(advice.Input, "set completions of the Job to the number of shards", "%s: the variable %s is %d, and the last of %d shards has %d", quoted(text), jobIndex, index, n, n-1)
	}
	return s, err
}
