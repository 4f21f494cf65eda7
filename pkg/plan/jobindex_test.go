package plan

import (
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

func TestParseJobShard(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ text, index, want, problem string }{
		{text: "2/4", want: "2/4"},
		{text: "2/4", index: "0", want: "2/4"},
		{text: "job/4", index: "0", want: "1/4"},
		{text: "job/4", index: "3", want: "4/4"},
		{text: "job/1000", index: "999", want: "1000/1000"},
		{text: "job/4", problem: "JOB_COMPLETION_INDEX, which is not set"},
		{text: "job/4", index: "4", problem: "is 4, and the last of 4 shards has 3"},
		{text: "job/4", index: "-1", problem: "not an index"},
		{text: "job/4", index: "first", problem: `"first", which is not an index`},
		{text: "job/4", index: "9223372036854775807", problem: "not an index"},
		{text: "job/0", index: "0", problem: "not a shard"},
		{text: "job/1001", index: "0", problem: "not a shard"},
		{text: "job/", index: "0", problem: "not a shard"},
		{text: "job", index: "0", problem: "not a shard"},
		{text: "jobs/4", index: "0", problem: "not a shard"},
	} {
		s, err := ParseJobShard(tc.text, func(name string) string { return map[string]string{jobIndex: tc.index}[name] })
		switch {
		case tc.problem == "" && (err != nil || s.String() != tc.want):
			t.Errorf("%s with index %q: %s, %v, want %s", tc.text, tc.index, s, err, tc.want)
		case tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem) || advice.KindOf(err) != advice.Input || advice.Hint(err) == ""):
			t.Errorf("%s with index %q: %v (%s), want %s", tc.text, tc.index, err, advice.Hint(err), tc.problem)
		}
	}
}
