package archive

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// blobs are descriptors of the given sizes; the content does not matter here.
func blobs(sizes ...int64) []ocispec.Descriptor {
	var descs []ocispec.Descriptor
	for i, size := range sizes {
		descs = append(descs, ocispec.Descriptor{Digest: digest.FromString(fmt.Sprint(i, size)), Size: size})
	}
	return descs
}

// sizes lists the sizes of the blobs in each volume.
func sizes(s *set) [][]int64 {
	var all [][]int64
	for _, v := range s.Volumes {
		in := []int64{}
		for _, e := range v.Entries {
			if e.Path == "" {
				in = append(in, e.Size)
			}
		}
		all = append(all, in)
	}
	return all
}

func TestPack(t *testing.T) {
	const (
		limit = 64 << 10
		// room is what one blob can have in a volume that holds nothing else,
		// and in the first volume, beside three files of a block each.
		room      = limit - labelSize - blockSize - trailerSize
		firstRoom = room - 3*2*blockSize
	)
	for name, tc := range map[string]struct {
		sizes []int64
		want  [][]int64
	}{
		"nothing":               {nil, [][]int64{{}}},
		"exactly the first":     {[]int64{firstRoom}, [][]int64{{firstRoom}}},
		"a byte more":           {[]int64{firstRoom + 1}, [][]int64{{}, {firstRoom + 1}}},
		"exactly a volume":      {[]int64{room}, [][]int64{{}, {room}}},
		"two volumes":           {[]int64{room, room}, [][]int64{{}, {room}, {room}}},
		"too large":             {[]int64{room + 1}, [][]int64{{}, {room + 1}}},
		"too large, then small": {[]int64{10, room + 1, room}, [][]int64{{10}, {room + 1}, {room}}},
		"largest first":         {[]int64{1, 30000, 2, 40000, 3}, [][]int64{{40000, 3, 2, 1}, {30000}}},
		"gaps are filled":       {[]int64{50000, 50000, 5000, 5000, 9000}, [][]int64{{50000, 9000}, {50000, 5000, 5000}}},
		"an empty blob fits":    {[]int64{firstRoom - blockSize, 0}, [][]int64{{firstRoom - blockSize, 0}}},
		"an empty blob does not": {
			[]int64{firstRoom, 0}, [][]int64{{firstRoom}, {0}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := pack(Content{Plan: bytesText([]byte("{}")), Entries: blobs(tc.sizes...)}, 1, "", limit)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, sizes(p.set)); diff != "" {
				t.Error(diff)
			}
			var large []int64
			for _, e := range p.oversized {
				large = append(large, e.Size)
			}
			for _, v := range p.set.Volumes {
				if v.Size > limit && len(large) == 0 {
					t.Errorf("%s has %d bytes, and nobody says so", v.Name, v.Size)
				}
			}
			again, err := parseSet(encoded(t, p.set))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p.set, again); diff != "" {
				t.Errorf("read back: %s", diff)
			}
		})
	}
}

// encoded is a set as it is written.
func encoded(t testing.TB, s *set) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPackTooManyVolumes(t *testing.T) {
	many := make([]int64, maxVolumes+1)
	for i := range many {
		many[i] = minVolumeSize - 4*blockSize - 512
	}
	if _, err := pack(Content{Plan: bytesText([]byte("{}")), Entries: blobs(many...)}, 1, "", minVolumeSize); err == nil {
		t.Error("more volumes than the names have digits for")
	}
}

// What is beside the content is little: a header, padding and a line each.
func TestOverhead(t *testing.T) {
	content := make([]int64, 10_000)
	var total int64
	for i := range content {
		content[i] = 100_000 + int64(i)
		total += content[i]
	}
	p, err := pack(Content{Plan: bytesText([]byte("{}")), Entries: blobs(content...)}, 1, "", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	written := p.size
	for _, v := range p.set.Volumes {
		written += v.Size
	}
	written += int64(len(content)) * 72 // the journal
	if float64(written) > 1.01*float64(total) {
		t.Errorf("%d bytes are written for %d of content", written, total)
	}
}
