package plan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// randomPlan returns a plan with images that share base layers, attachments, and a payload that is
// published last.
func randomPlan(t *testing.T, r *rand.Rand, images, bases int, largest int64) *Plan {
	t.Helper()
	p := &Plan{Kind: Kind, Version: Version, Name: "random"}
	blob := func(name string, size int64) digest.Digest {
		d := digest.FromString(name)
		if !slices.ContainsFunc(p.Blobs, func(b Blob) bool { return b.Digest == d }) {
			p.Blobs = append(p.Blobs, Blob{Digest: d, Size: size})
		}
		return d
	}
	add := func(kind ImageKind, repository, tag string, subject digest.Digest, blobs ...digest.Digest) digest.Digest {
		m := Manifest{Digest: digest.FromString(repository + tag), MediaType: "application/vnd.oci.image.manifest.v1+json", Size: 500 + r.Int64N(500), Blobs: blobs}
		p.Manifests = append(p.Manifests, m)
		p.Images = append(p.Images, Image{
			Source: "quay.io/" + repository + "@" + m.Digest.String(), Kind: kind, Digest: m.Digest, Repository: repository, Tags: []string{tag}, Subject: subject,
			Reasons: []Reason{{List: "additionalImages"}},
		})
		return m.Digest
	}
	for i := range images {
		base, repository := r.IntN(bases), fmt.Sprintf("org/image-%d", i/2)
		d := add(RelatedImage, repository, fmt.Sprintf("v%d", i), "",
			blob(fmt.Sprint("config", i), 1000), blob(fmt.Sprint("base", base), 50_000+int64(base)), blob(fmt.Sprint("layer", i), 1+r.Int64N(largest)))
		if i%5 == 0 {
			s := add(SignatureImage, repository, fmt.Sprintf("s%d", i), d, blob(fmt.Sprint("signature", i), 300))
			add(SignatureImage, repository, fmt.Sprintf("ss%d", i), s, blob(fmt.Sprint("signature of signature", i), 300))
		}
	}
	payload := add(AdditionalImage, "openshift/release-images", "4.20", "", blob("base0", 50_000), blob("payload", 9_000_000))
	add(SignatureImage, "openshift/release-images", "signature", payload, blob("signature of payload", 300))
	slices.SortFunc(p.Images, CompareImages)
	if err := p.gather(inOrder(p.Manifests, compareManifests), inOrder(p.Blobs, compareBlobs)); err == nil {
		t.Fatal("the sizes are not set")
	}
	contents, err := p.Contents()
	fail.On(t, err)
	for i := range p.Images {
		if p.Images[i].Size, _, err = contents.size(p.Images[i].Digest); err != nil {
			t.Fatal(err)
		}
	}
	fail.On(t, p.Check())
	for i := range p.Images { // without the rest of a release, which Shards does not read
		if p.Images[i].Digest == payload {
			p.Images[i].Kind = GraphImage
		}
	}
	return p
}

// TestShards checks the properties of shards for random plans: each image is in one shard, with its
// attachments; no shard is much larger than the average; and content is in few shards.
func TestShards(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		images, bases, n := 1+r.IntN(200), 1+r.IntN(12), 1+r.IntN(9)
		p := randomPlan(t, r, images, bases, []int64{10, 10_000, 1_000_000}[r.IntN(3)])
		of, err := p.Shards(n)
		fail.On(t, err)
		if again, _ := p.Shards(n); !reflect.DeepEqual(of, again) {
			t.Fatal("the shards of one plan differ")
		}
		shardOf, inShards := map[place]int{}, 0
		for i, img := range p.Images {
			shardOf[place{img.Repository, img.Digest}] = of[i]
			if last := img.Repository == "openshift/release-images"; last != (of[i] == 0) || of[i] < 0 || of[i] > n {
				t.Fatalf("%s is in shard %d of %d", img.Source, of[i], n)
			}
			if of[i] > 0 {
				inShards++
			}
		}
		for i, img := range p.Images {
			if img.Subject != "" && shardOf[place{img.Repository, img.Subject}] != of[i] {
				t.Fatalf("%s is not in the shard of its subject", img.Source)
			}
		}
		all, err := p.BeforeLast()
		fail.On(t, err)
		var sum, largest, unit int64
		for i := 1; i <= n; i++ {
			part, err := p.Shard(Shard{i, n})
			fail.On(t, err)
			inShards -= len(part.Images)
			sum += part.Totals.Bytes
			largest = max(largest, part.Totals.Bytes)
		}
		contents, err := p.Contents()
		fail.On(t, err)
		units, err := p.shardUnits(contents)
		fail.On(t, err)
		for _, u := range units {
			if !u.last {
				unit = max(unit, u.size)
			}
		}
		fail.Diff(t, 0, inShards)
		// The last unit of a shard was added to a shard below the limit, or to the smallest one.
		if limit := max(all.Totals.Bytes+all.Totals.Bytes/slack, sum)/int64(n) + unit; largest > limit {
			t.Errorf("the largest of %d shards of %d images has %d bytes, want at most %d", n, images, largest, limit)
		}
		if most := all.Totals.Bytes + int64(bases*(n-1))*60_000; sum > most {
			t.Errorf("%d shards have %d bytes together, the plan has %d", n, sum, all.Totals.Bytes)
		}
	}
}

// TestShardsShareLayers checks that images with the same large layer are in one shard if that is possible.
func TestShardsShareLayers(t *testing.T) {
	p := randomPlan(t, rand.New(rand.NewPCG(5, 6)), 400, 40, 100)
	all, err := p.BeforeLast()
	fail.On(t, err)
	var sum int64
	for i := 1; i <= 4; i++ {
		part, err := p.Shard(Shard{i, 4})
		fail.On(t, err)
		sum += part.Totals.Bytes
		if part.Totals.Bytes > all.Totals.Bytes/4*11/10 {
			t.Errorf("shard %d has %d of %d bytes", i, part.Totals.Bytes, all.Totals.Bytes)
		}
	}
	if sum > all.Totals.Bytes*115/100 {
		t.Errorf("the shards have %d bytes together, the plan has %d", sum, all.Totals.Bytes)
	}
}

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "2/4": {2, 4}, "1000/1000": {1000, 1000}, "0/4": {}, "5/4": {}, "": {}, "1": {}, "1/": {}, "+1/4": {}, "01/4": {}, "1/1001": {}, "1/4/4": {}, " 1/4": {}} {
		got, err := ParseShard(text)
		if got != want || (err == nil) != (want != Shard{}) {
			t.Errorf("ParseShard(%q) = %v, %v", text, got, err)
		}
	}
}
