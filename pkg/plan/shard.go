package plan

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/elements"
)

// MaxShards is the maximum number of shards of a plan.
const MaxShards = 1000

// A Shard is one of Count parts of a plan, which can be copied by different hosts at the same time. Index
// counts from 1.
type Shard struct{ Index, Count int }

// ParseShard reads a shard such as "2/4".
func ParseShard(text string) (Shard, error) {
	index, count, _ := strings.Cut(text, "/")
	var s Shard
	s.Index, _ = strconv.Atoi(index)
	s.Count, _ = strconv.Atoi(count)
	if s.String() != text || s.Index < 1 || s.Index > s.Count || s.Count > MaxShards {
		return Shard{}, advice.New(advice.Input, "write I/N, such as 2/4 for the second of four, or job/4 in a pod of an Indexed Job", "%s is not a shard of at most %d", quoted(text), MaxShards)
	}
	return s, nil
}

func (s Shard) String() string { return strconv.Itoa(s.Index) + "/" + strconv.Itoa(s.Count) }

// slack is the part of the average, as 1/slack, by which a shard may be larger so that images which share
// layers stay together.
const slack = 20

// Shard returns one shard of the plan. All shards of a plan have all of its images, each image in one of
// them, except for what is published last: catalogs, payloads of releases, graph data, and what belongs to
// these. A shard has no catalogs and no releases, and nothing that is missing or blocked.
//
// Shards are about equally large, counting a blob once for each shard that has it. Images that share layers
// are in the same shard as far as this permits, and images that belong to others always are. The shards
// depend on the plan and their number alone.
func (p *Plan) Shard(s Shard) (*Plan, error) {
	of, err := p.Shards(s.Count)
	if err != nil {
		return nil, err
	}
	return p.onlyWhere(func(i int) bool { return of[i] == s.Index })
}

// BeforeLast returns the plan of all images that are in shards: everything that is not published last.
func (p *Plan) BeforeLast() (*Plan, error) {
	of, err := p.Shards(1)
	if err != nil {
		return nil, err
	}
	return p.onlyWhere(func(i int) bool { return of[i] > 0 })
}

// onlyWhere returns the plan of some images, with their charts and files.
func (p *Plan) onlyWhere(keep func(i int) bool) (*Plan, error) {
	var images []Image
	for i := range p.Images {
		if keep(i) {
			images = append(images, p.Images[i])
		}
	}
	q, err := p.OnlyImages(images)
	if err != nil {
		return nil, err
	}
	kept := p.having(q.Images)
	q.Charts, q.Files = kept.Charts, kept.Files
	return q, q.Check()
}

// A shardUnit is images of one repository that stay together, and their content.
type shardUnit struct {
	images []int
	last   bool  // it is published last
	blobs  []int // unique indexes in Contents.Blobs
	size   int64 // of blobs and manifests
	fixed  int64 // of manifests
}

// Shards returns the index of the shard of each image of the plan, if it is divided into n; 0 for images that
// are published last.
func (p *Plan) Shards(n int) ([]int, error) {
	contents, err := p.Contents()
	if err != nil {
		return nil, err
	}
	units, err := p.shardUnits(contents)
	if err != nil {
		return nil, err
	}
	of := make([]int, len(p.Images))
	seen, total := make([]bool, len(contents.blobs)), int64(0)
	units = slices.DeleteFunc(units, func(u shardUnit) bool { return u.last })
	for _, u := range units {
		total += u.fixed
		for _, b := range u.blobs {
			if !seen[b] {
				seen[b] = true
				total += contents.blobs[b].Size
			}
		}
	}
	elements.Sort(units, func(a, b shardUnit) int { return cmp.Compare(b.size, a.size) })
	limit := total/int64(n) + total/int64(n)/slack
	holders := make([][]int, len(contents.blobs)) // shards, by blob
	loads, counts, shared := make([]int64, n), make([]int, n), make([]int64, n)
	for _, u := range units {
		clear(shared)
		for _, b := range u.blobs {
			for _, s := range holders[b] {
				shared[s] += contents.blobs[b].Size
			}
		}
		best := -1
		better := func(s int) bool {
			fits, bestFits := loads[s]+u.size-shared[s] <= limit, loads[best]+u.size-shared[best] <= limit
			switch {
			case fits != bestFits:
				return fits
			case fits:
				return cmp.Or(cmp.Compare(shared[best], shared[s]), cmp.Compare(loads[s], loads[best]), cmp.Compare(counts[s], counts[best])) < 0
			}
			return cmp.Or(cmp.Compare(loads[s]-shared[s], loads[best]-shared[best]), cmp.Compare(counts[s], counts[best])) < 0
		}
		for s := range n {
			if best < 0 || better(s) {
				best = s
			}
		}
		loads[best] += u.size - shared[best]
		counts[best] += len(u.images)
		for _, b := range u.blobs {
			if !slices.Contains(holders[b], best) {
				holders[b] = append(holders[b], best)
			}
		}
		for _, i := range u.images {
			of[i] = best + 1
		}
	}
	return of, nil
}

// shardUnits returns the units of the plan, in the order of its images. Images of a repository are one unit
// if they have a manifest in common, or if one belongs to the other.
func (p *Plan) shardUnits(contents *Contents) ([]shardUnit, error) {
	var units []shardUnit
	for start := 0; start < len(p.Images); {
		end := start + 1
		for end < len(p.Images) && p.Images[end].Repository == p.Images[start].Repository {
			end++
		}
		first := map[digest.Digest]int{} // the first image with a manifest
		same := make([]int, end-start)   // an earlier image of the unit, or itself
		root := func(i int) int {
			for same[i] != i {
				i = same[i]
			}
			return i
		}
		join := func(i, j int) {
			i, j = root(i), root(j)
			same[max(i, j)] = min(i, j)
		}
		for i := range same {
			same[i] = i
			err := contents.Walk(p.Images[start+i].Digest, func(m *Manifest) error {
				if j, ok := first[m.Digest]; ok {
					join(i, j)
				} else {
					first[m.Digest] = i
				}
				return nil
			}, func(Blob) error { return nil })
			if err != nil {
				return nil, err
			}
		}
		for i := range same {
			if j, ok := first[p.Images[start+i].Subject]; ok {
				join(i, j)
			}
		}
		byRoot := map[int]int{}
		for i := range same {
			at, ok := byRoot[root(i)]
			if !ok {
				at = len(units)
				byRoot[root(i)] = at
				units = append(units, shardUnit{})
			}
			units[at].images = append(units[at].images, start+i)
		}
		start = end
	}
	for i := range units {
		if err := units[i].measure(p, contents); err != nil {
			return nil, err
		}
	}
	return units, nil
}

// measure sets the content of a unit from its images.
func (u *shardUnit) measure(p *Plan, contents *Contents) error {
	seen := map[digest.Digest]bool{}
	for _, i := range u.images {
		switch p.Images[i].Kind {
		case CatalogImage, ReleaseImage, GraphImage:
			u.last = true
		}
		err := contents.WalkIndexes(p.Images[i].Digest, func(m *Manifest) error {
			if !seen[m.Digest] {
				seen[m.Digest] = true
				u.fixed += m.Size
			}
			return nil
		}, func(b int) error {
			if blob := &contents.blobs[b]; !seen[blob.Digest] {
				seen[blob.Digest] = true
				u.blobs = append(u.blobs, b)
				u.size += blob.Size
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	u.size += u.fixed
	return nil
}
