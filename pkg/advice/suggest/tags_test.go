package suggest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTags(t *testing.T) {
	t.Parallel()
	index := []string{"v4.9", "v4.20", "v4.19", "v4.20-1234", "latest", "v4.18", "sha256-00.sig"}
	for _, tc := range []struct {
		tag  string
		tags []string
		want []string
	}{
		{"v4.99", index, []string{"v4.19", "v4.20"}},
		{"v4.10", index, []string{"v4.9", "v4.18"}},
		{"v4.18.3", []string{"v4.18.2", "v4.18.10", "v4.18.1"}, []string{"v4.18.1", "v4.18.2", "v4.18.10"}},
		{"v3.1", []string{"v4.10", "v4.9"}, []string{"v4.9"}},
		{"v99999999999999999999", []string{"v99999999999999999998", "v100000000000000000000"}, []string{"v99999999999999999998", "v100000000000000000000"}},
		{"4.20", []string{"v4.20", "latest"}, []string{"v4.20"}},
		{"lates", index, []string{"latest"}},
		{"v1", []string{"nightly"}, nil},
		{"v1", nil, nil},
	} {
		if diff := cmp.Diff(tc.want, Tags(tc.tag, tc.tags)); diff != "" {
			t.Errorf("Tags(%q): %s", tc.tag, diff)
		}
	}
}
