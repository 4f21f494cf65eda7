package image

import (
	"bytes"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/image"
	"github.com/gantry-mirror/gantry/pkg/image/layers"
)

func TestVerdict(t *testing.T) {
	tests := []struct {
		name    string
		headers []header
		want    Verdict
	}{
		{"catalog", configs, CatalogOnly},
		{"cache", cache, CatalogOnly},
		{"both, from the root", []header{{"./", ""}, {"./configs/", ""}, {"./configs/a", "A"}, {"/tmp/", ""}, {"/tmp/cache/x", "x"}}, CatalogOnly},
		{"a program", base, Other},
		{"nothing", nil, Other},
		{"directories above", []header{{"./", ""}, {"tmp/", ""}}, Other},
		{"names that begin alike", []header{{"configs2/a", "A"}, {"tmp/cache.old", "x"}}, Other},
		{"beside the cache", []header{{"tmp/cache/x", "x"}, {"tmp/y", "y"}}, Mixed},
		{"a directory elsewhere", []header{{"configs/a", "A"}, {"run/", ""}}, Mixed},
		{"a link for a directory", []header{{"configs/a", "A"}, {"tmp", "-> var/tmp"}}, Mixed},
		{"whiteouts in the catalog", []header{{"configs/.wh.a", ""}, {"configs/b/.wh..wh..opq", ""}}, CatalogOnly},
		{"whiteout of the catalog", []header{{".wh.configs", ""}, {"tmp/.wh.cache", ""}}, CatalogOnly},
		{"whiteout of more", []header{{"configs/a", "A"}, {".wh.tmp", ""}}, Mixed},
		{"whiteout of all", []header{{"configs/a", "A"}, {".wh..wh..opq", ""}}, Mixed},
		{"whiteout elsewhere", []header{{"etc/.wh.x", ""}}, Other},
	}
	for _, test := range tests {
		l := &image.Lister{Dir: "configs", Also: []string{"tmp/cache"}, Budget: layers.NewBudget(1 << 20)}
		found, err := l.List(bytes.NewReader(pack(t, test.headers)))
		fail.On(t, err)
		fail.Diff(t, test.want, verdict(found))
	}
	fail.Diff(t, Unread, verdict(nil))
}
