package mirror

import (
	"context"
	"fmt"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/plan"
)

// fiveThousand returns a plan of 5,000 images in 500 repositories. Each image has a base of two
// blobs that it shares with other images, one blob that it shares with its repository, and two of
// its own.
func fiveThousand(b *testing.B) *maker {
	m := newMaker(b)
	for i := range 5000 {
		repository := fmt.Sprintf("org%d/operand%03d", i/10%7, i/10)
		base := fmt.Sprintf("base %d", i%4)
		d := m.image(base+" system", base+" runtime", repository, fmt.Sprintf("config %d", i), fmt.Sprintf("layer %d", i))
		m.add(repository, fmt.Sprintf("v1.%d.0", i%10), d)
	}
	return m
}

// BenchmarkNewWork measures splitting a plan into blobs, repositories and dependencies.
func BenchmarkNewWork(b *testing.B) {
	p := fiveThousand(b).plan()
	b.ReportAllocs()
	for b.Loop() {
		w, err := newWork(p, true)
		fail.On(b, err)
		if n := len(w.neededBlobs()); n != 8+500+10_000 {
			b.Fatalf("%d blobs are needed", n)
		}
	}
}

// A listing registry has an index of the tags of each repository.
type listing struct {
	*memoryRegistry
	of map[string][]string // from the plan
}

func (l *listing) Tags(_ context.Context, repository string, limit int) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var tags []string
	for _, tag := range l.of[repository] {
		if _, ok := l.tags[repository+":"+tag]; ok && len(tags) < limit {
			tags = append(tags, tag)
		}
	}
	return tags, nil
}

// BenchmarkRun measures a run whose source and destination take no time.
func BenchmarkRun(b *testing.B) {
	m := fiveThousand(b)
	p := m.plan()
	of := map[string][]string{}
	for _, img := range p.Images {
		of[img.Repository] = append(of[img.Repository], img.Tags...)
	}
	empty := func() Destination { return &listing{newMemoryRegistry(), of} }
	run := func(b *testing.B, sink Destination, present int) {
		r, err := Run(b.Context(), p, m.source(), sink, Options{})
		fail.On(b, err)
		if r.Images != 5000 || r.Present != present {
			b.Fatalf("%+v", r)
		}
	}
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			run(b, empty(), 0)
		}
	})
	b.Run("again", func(b *testing.B) {
		sink := empty()
		run(b, sink, 0)
		b.ReportAllocs()
		for b.Loop() {
			run(b, sink, 5000)
		}
	})
}

// BenchmarkMeter measures reading the progress of a run with sixteen transfers, as often as a
// progress bar does, while each read of a transfer is counted.
func BenchmarkMeter(b *testing.B) {
	var m Meter
	var flights []*transfer
	for i := range 16 {
		h := &target{repository: fmt.Sprint(i)}
		f := m.startTransfer(&blob{desc: &plan.Blob{Digest: digest.FromString(fmt.Sprint(i)), Size: 1 << 40}})
		f.sending(h, 0)
		flights = append(flights, f)
	}
	b.Run("count", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for f := flights[0]; pb.Next(); {
				f.read(1)
			}
		})
	})
	b.Run("progress", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if m.Progress().Copied == 0 {
				b.Fatal("nothing moved")
			}
		}
	})
}
