package archive

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// pack calls Options.pack with default options.
func pack(c Content, sequence int, parent digest.Digest, volumeSize int64) (*packing, error) {
	return (&Options{VolumeSize: volumeSize, withoutCopy: true}).pack(c, sequence, parent, nil)
}

// blobs returns descriptors of the given sizes, without content.
func blobs(sizes ...int64) []ocispec.Descriptor {
	var descs []ocispec.Descriptor
	for i, size := range sizes {
		descs = append(descs, ocispec.Descriptor{Digest: digest.FromString(fmt.Sprint(i, size)), Size: size})
	}
	return descs
}

// sizes returns the sizes of the blobs in each volume.
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
		// room is the largest size of a single blob in a volume without other files.
		room = limit - labelSize - blockSize - trailerSize
	)
	// first is the same for the first volume, which also has three files of one block each and the
	// checksums of these files and n blobs. cut is the same if the volumes also have a script that
	// joins parts.
	first := func(n int64) int64 { return room - 3*2*blockSize - blockSize - padded(237+144*n) }
	cut := func(n int64) int64 {
		return room - 3*2*blockSize - blockSize - padded(237+81+144*n) - blockSize - padded(int64(len(joinScript)))
	}
	for name, tc := range map[string]struct {
		sizes []int64
		want  [][]int64
	}{
		"nothing":               {nil, [][]int64{{}}},
		"exactly the first":     {[]int64{first(1)}, [][]int64{{first(1)}}},
		"a byte more":           {[]int64{first(1) + 1}, [][]int64{{}, {first(1) + 1}}},
		"exactly a volume":      {[]int64{room}, [][]int64{{}, {room}}},
		"two volumes":           {[]int64{room, room}, [][]int64{{}, {room}, {room}}},
		"too large":             {[]int64{room + 1}, [][]int64{{cut(1)}, {room + 1 - cut(1)}}},
		"too large, then small": {[]int64{10, room + 1, room}, [][]int64{{cut(3)}, {room + 1 - cut(3), 10}, {room}}},
		"three parts":           {[]int64{cut(1) + room + 1}, [][]int64{{cut(1)}, {room}, {1}}},
		"one part after the other": {
			[]int64{cut(2) + room + 512, room + 1},
			[][]int64{{cut(2)}, {room}, {512, room - 1024}, {1025}},
		},
		"no room for a part worth it": {
			[]int64{cut(2) + room - 1000, room + 1},
			[][]int64{{cut(2)}, {room - 1000}, {room}, {1}},
		},
		"largest first":      {[]int64{1, 30000, 2, 40000, 3}, [][]int64{{40000, 3, 2, 1}, {30000}}},
		"gaps are filled":    {[]int64{50000, 50000, 5000, 5000, 9000}, [][]int64{{50000, 5000}, {50000, 9000}, {5000}}},
		"an empty blob fits": {[]int64{first(2) - blockSize, 0}, [][]int64{{first(2) - blockSize, 0}}},
		"an empty blob does not": {
			[]int64{first(2), 0}, [][]int64{{first(2)}, {0}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := pack(Content{Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(tc.sizes...))}, 1, "", limit)
			fail.On(t, err)
			fail.Diff(t, tc.want, sizes(p.set))
			for _, v := range p.set.Volumes {
				if v.Size > limit {
					t.Errorf("%s has %d bytes", v.Name, v.Size)
				}
			}
			again, err := parse(bytes.NewReader(encoded(t, p.set)), true, nil)
			fail.On(t, err)
			fail.Diff(t, p.set, again)
		})
	}
}

// encoded returns a set as it is written.
func encoded(t testing.TB, s *set) []byte {
	t.Helper()
	var b bytes.Buffer
	fail.On(t, s.write(&b))
	return b.Bytes()
}

func TestPackTooManyVolumes(t *testing.T) {
	many := make([]int64, maxVolumes+1)
	for i := range many {
		many[i] = minVolumeSize - 4*blockSize - 512
	}
	if _, err := pack(Content{Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(many...))}, 1, "", minVolumeSize); err == nil {
		t.Error("more volumes than the names have digits for")
	}
}

// TestOverhead checks that an archive is little larger than its content: each blob adds a header,
// padding and a line.
func TestOverhead(t *testing.T) {
	content := make([]int64, 10_000)
	var total int64
	for i := range content {
		content[i] = 100_000 + int64(i)
		total += content[i]
	}
	p, err := pack(Content{Plan: writeBytes([]byte("{}")), Entries: slices.Values(blobs(content...))}, 1, "", 1<<30)
	fail.On(t, err)
	written := p.size
	for _, v := range p.set.Volumes {
		written += v.Size
	}
	written += int64(len(content)) * 13 // the journal
	if float64(written) > 1.01*float64(total) {
		t.Errorf("%d bytes are written for %d of content", written, total)
	}
}
