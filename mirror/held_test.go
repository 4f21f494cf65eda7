package mirror

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/receipt"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/plan"
)

// heap is how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one cleaned up after
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// manyImages is a plan of so many images in a tenth as many repositories. Each has
// a blob of its own, one that its repository has, and one of a few that all share.
func manyImages(t *testing.T, images int) *plan.Plan {
	m := newMaker(t)
	for i := range images {
		repository := fmt.Sprintf("org/operand%04d", i/10)
		d := m.image(fmt.Sprintf("base %d", i%4), repository, fmt.Sprintf("layer %d", i))
		m.add(repository, strings.Replace(d.String(), ":", "-", 1), d)
		m.p.Images[i].Source = "quay.io/" + repository + "@" + d.String()
	}
	return m.plan()
}

// What is held beside a plan is in bytes an image what it says here, and not much
// more, so that plans of 50,000 images fit into little memory.
func TestHeldPerImage(t *testing.T) {
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
			w, err := take(p, true)
			if err != nil {
				t.Fatal(err)
			}
			return []any{w, w.need()}
		}},
		{"what a mirror holds", 160, func() any {
			h := Hold(p, names, &Report{}, nil)
			return &h
		}},
		{"what a mirror holds, with what it held", 160, func() any {
			before := Hold(p, names, &Report{}, nil)
			h := Hold(p, names, &Report{}, &before)
			return &h
		}},
		{"what an archive leaves out", 200, func() any {
			repositories, err := Inventory(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Leave(p, &receipt.Receipt{Repositories: repositories})
			if err != nil || l.Manifests < images {
				t.Fatal(l, err)
			}
			return l
		}},
		{"what a mirror held, read again", 420, func() any {
			h := Hold(p, names, &Report{}, nil)
			var text bytes.Buffer
			if err := h.Write(&text); err != nil {
				t.Fatal(err)
			}
			read, err := ReadHolding(json.NewDecoder(&text))
			if err != nil || len(read.Images) != images {
				t.Fatal(len(read.Images), err)
			}
			return &read
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

// What no other image has is put once by itself: nothing is kept of it.
func TestSlot(t *testing.T) {
	m := newMaker(t)
	child := m.image("layer")
	m.add("org/a", "v1", m.index(child))
	m.add("org/a", "v2", m.index(child, m.image("another")))
	work, err := take(m.plan(), true)
	if err != nil {
		t.Fatal(err)
	}
	r := &run{work: work}
	first, second := r.images[0], r.images[1]
	if a, b := r.slot(first, first.manifests[0], nil), r.slot(second, second.manifests[0], nil); a != b {
		t.Error("a child of two images has two slots")
	}
	root := second.manifests[2]
	if a, b := r.slot(second, root, second.Tags), r.slot(second, root, second.Tags); a == b {
		t.Error("the root of one image is kept")
	}
	kept := 0
	r.pushed.Range(func(any, any) bool { kept++; return true })
	if kept != 1 {
		t.Errorf("%d manifests are kept, 1 is shared", kept)
	}
}
