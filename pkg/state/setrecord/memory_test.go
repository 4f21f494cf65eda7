package setrecord

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// Recording 50,000 images takes little memory beside the record itself.
func TestMemoryOfLargeRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	r := &state.Record{}
	for i := range 50_000 {
		d := digest.FromString(fmt.Sprint(i))
		path := fmt.Sprintf("org/team/name-%d", i/10)
		r.Images = append(r.Images, resources.Image{
			Source: reference.Reference{Host: "registry.example.com", Path: path, Digest: d},
			Mirror: reference.Reference{Host: "mirror.example.com:5000", Path: "ocp/" + path, Tag: "sha256-" + d.Encoded(), Digest: d}, Kind: "operator",
		})
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	n, err := neutral(r, "mirror.example.com:5000", "ocp")
	fail.On(t, err)
	_, err = digestOf(n.Write)
	fail.On(t, err)
	if took := heap() - before; took > 16<<20 {
		t.Errorf("the copy of the record takes %d bytes", took)
	}
	// Reading it back takes no more than the record.
	pr, pw := io.Pipe()
	go func() { _ = pw.CloseWithError(n.Write(pw)) }()
	before = heap()
	read, err := readRecord(pr, "mirror.example.com:5000", "ocp")
	fail.On(t, err)
	if took := heap() - before; len(read.Images) != len(r.Images) || took > 48<<20 {
		t.Errorf("reading %d images takes %d bytes", len(read.Images), took)
	}
	runtime.KeepAlive(n)
	runtime.KeepAlive(read)
}
