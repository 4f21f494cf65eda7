package mirror

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/state"
)

// heap returns the number of bytes in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // collects what the cleanups of the first one released
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// manyImages returns a plan of so many images in a tenth as many repositories. Each image has one
// blob of its own, one that its repository shares, and one of a few that all images share.
func manyImages(t *testing.T, images int) *plan.Plan {
	m := newMaker(t)
	for i := range images {
		repository := fmt.Sprintf("org/operand%04d", i/10)
		d := m.image(fmt.Sprintf("base %d", i%4), repository, fmt.Sprintf("layer %d", i))
		m.add(repository, plan.DigestTag(d), d)
		m.p.Images[i].Source = "quay.io/" + repository + "@" + d.String()
	}
	return m.plan()
}

// TestMemoryPerImage checks that the memory of a run per image stays near the numbers here, so that
// a plan of 50,000 images needs little memory.
func TestMemoryPerImage(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory with many images")
	}
	const images = 10_000
	p := manyImages(t, images)
	names := map[string]reference.Reference{}
	for _, img := range p.Images {
		names[img.Repository] = reference.Reference{Host: "mirror.example.com", Path: "m/" + img.Repository}
	}
	for _, one := range []struct {
		what string
		most int64 // bytes an image
		hold func() any
	}{
		{"the work of a registry", 450, func() any {
			w, err := newWork(p, true)
			fail.On(t, err)
			return []any{w, w.neededBlobs()}
		}},
		{"what a mirror holds", 160, func() any {
			h := NewRecord(p, names, &Report{}, nil)
			return &h
		}},
		{"what a mirror holds, with what it held", 160, func() any {
			before := NewRecord(p, names, &Report{}, nil)
			h := NewRecord(p, names, &Report{}, &before)
			return &h
		}},
		{"what an archive leaves out", 200, func() any {
			repositories, err := Inventory(p, nil)
			fail.On(t, err)
			l, err := FindOmitted(p, &state.Receipt{Repositories: repositories})
			if err != nil || l.Manifests < images {
				t.Fatal(l, err)
			}
			return l
		}},
		{"what a mirror held, read again", 420, func() any {
			h := NewRecord(p, names, &Report{}, nil)
			w, err := state.Open(t.TempDir())
			fail.On(t, err)
			defer w.Close()
			fail.On(t, w.SaveRecord("mirror", "name", &h))
			read, err := w.Records("mirror")
			if err != nil || len(read["name"].Images) != images {
				t.Fatal(len(read), err)
			}
			return read
		}},
	} {
		before := heap()
		held := one.hold()
		each := (heap() - before) / images
		t.Logf("%s: %d bytes an image", one.what, each)
		if each > one.most {
			t.Errorf("%s: %d bytes an image are held, at most %d are wanted", one.what, each, one.most)
		}
		runtime.KeepAlive(held)
	}
	runtime.KeepAlive(p)
}
