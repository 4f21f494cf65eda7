package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestHistories makes random histories of a mirror: two image sets grow, shrink and pin images by digest, images change at
// their source and gain and lose referrers, other clients push tags and referrers, also of images that come or are pinned
// later, runs of mirror, prune in all its ways and delete are killed at random requests, and the registry collects garbage. In
// the end, both image sets are mirrored and pruned, one may be given up, and the registry collects garbage, without and with
// --delete-untagged. Each time, everything that is wanted is complete, nothing of others changed, and nothing is left
// that no image set wants. Without variables, the seeds are always the same.
// $GANTRY_HISTORIES is the number of histories with new seeds, $GANTRY_HISTORY the seed of the only one.
func TestHistories(t *testing.T) {
	t.Parallel()
	n, first := 2, uint64(1000)
	if !short(t) {
		n = 4
	}
	if text := os.Getenv("GANTRY_HISTORIES"); text != "" {
		n, _ = strconv.Atoi(text)
		first = uint64(time.Now().UnixNano()%1_000_000) * 1000
	}
	if text := os.Getenv("GANTRY_HISTORY"); text != "" {
		first, _ = strconv.ParseUint(text, 10, 64)
		n = 1
	}
	for i := range n {
		seed := first + uint64(i)
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { newHistory(t, seed).run() }) {
			t.Fatalf("GANTRY_HISTORY=%d repeats this one", seed)
		}
	}
}

// historyImages is the number of images of a history.
const historyImages = 6

// A history is what happened to a mirror.
type history struct {
	*fixture
	r   *rand.Rand
	log []string
	// at are the images at the source, by number, and versions how often they changed.
	at       [historyImages]digest.Digest
	versions [historyImages]int
	// sets are the image sets: their images, and whether each is pinned to a digest ("" is the tag).
	sets [2]map[int]digest.Digest
	// foreign are the manifests of others in the mirror, by "repository:tag" or "repository@digest".
	foreign map[string]digest.Digest
	attached
	count int
	// sparse means that the second image set is one platform in a mirror of its own on the same registry.
	sparse bool
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{
		fixture: &fixture{t: t, dir: rt.TempDir(t), source: rt.Start(t, rt.Options{}), mirror: rt.Start(t, rt.Options{Alone: true, Sparse: seed%3 == 0})},
		r:       rand.New(rand.NewPCG(seed, 25)), sparse: seed%3 == 0, foreign: map[string]digest.Digest{}, attached: newAttached(),
	}
	h.script(false)
	h.surroundings(h.write("registries.conf", ""), "")
	for i := range h.at {
		h.change(i)
	}
	for i := range h.sets {
		h.sets[i] = map[int]digest.Digest{}
		h.edit(i)
	}
	t.Cleanup(func() {
		if t.Failed() || testing.Verbose() {
			t.Logf("the history:\n%s", strings.Join(h.log, "\n"))
		}
	})
	return h
}

func (h *history) say(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) check(err error) {
	h.t.Helper()
	fail.On(h.t, err)
}

func imageOf(i int) string { return fmt.Sprintf("org/app%d", i) }

// content returns an image, or an index of two, with a layer of its own and one that others share.
func (h *history) content(name string, index bool) rt.Content {
	image := func(name string) v1.Image {
		shared, err := rt.SizedImage(fmt.Sprint("shared", h.r.IntN(4)), 3000)
		h.check(err)
		layers, err := shared.Layers()
		h.check(err)
		img, err := rt.SizedImage(name, 500)
		h.check(err)
		img, err = mutate.AppendLayers(img, layers...)
		h.check(err)
		return img
	}
	if !index {
		return image(name)
	}
	var parts []mutate.IndexAddendum
	for _, arch := range []string{"amd64", "arm64"} {
		parts = append(parts, mutate.IndexAddendum{Add: image(name + arch), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	return mutate.AppendManifests(empty.Index, parts...)
}

// change pushes another image to a tag of the source, sometimes with a signature and referrers.
func (h *history) change(i int) {
	h.versions[i]++
	name := fmt.Sprintf("%s %d", imageOf(i), h.versions[i])
	content := h.content(name, i%2 == 1)
	d, err := h.source.Client().Push(h.t.Context(), imageOf(i), "v1", content)
	h.check(err)
	h.at[i] = d
	h.say("the source has another app%d: %s", i, d)
	if h.r.IntN(2) == 0 {
		_, err := h.source.Client().PushSignature(h.t.Context(), imageOf(i), d, ".sig", name)
		h.check(err)
	}
	for n := range h.r.IntN(3) {
		h.attach(h.source, imageOf(i), d, fmt.Sprint(name, n))
	}
}

// edit changes what an image set selects.
func (h *history) edit(set int) {
	want := h.sets[set]
	most := 2 + h.r.IntN(3)
	if h.r.IntN(3) == 0 {
		most = 1 // shrink
	}
	clear(want)
	for range most {
		i := h.r.IntN(historyImages)
		want[i] = ""
		if h.r.IntN(3) == 0 {
			want[i] = h.at[i]
		}
	}
	var stanza strings.Builder
	stanza.WriteString("  additionalImages:\n")
	for i := range historyImages {
		d, ok := want[i]
		name := h.source.Host + "/" + imageOf(i) + ":v1"
		if d != "" {
			name = h.source.Host + "/" + imageOf(i) + "@" + d.String()
		}
		if ok {
			fmt.Fprintf(&stanza, "  - name: %s\n", name)
			if h.sparse && set == 1 {
				stanza.WriteString(onePlatform)
			}
		}
	}
	h.config(h.setName(set)+".yaml", stanza.String())
	h.say("the image set %s wants %v", h.setName(set), want)
}

// onePlatform selects a platform of an image.
const onePlatform = "    platforms:\n    - os: linux\n      architecture: amd64\n"

// to returns the mirror of an image set, and prefix the path of its repositories.
func (h *history) to(set int) string { return h.docker("/" + h.prefix(set)) }

func (h *history) prefix(set int) string {
	if h.sparse && set == 1 {
		return "n"
	}
	return "m"
}

func (h *history) setName(set int) string { return string(rune('a' + set)) }

// args returns the arguments of a verb for an image set and its workspace.
func (h *history) args(set int, args ...string) []string {
	return append(args, "--workspace", h.path("workspace-"+h.setName(set)))
}

func (h *history) mirrorArgs(set int) []string {
	args := h.args(set, "mirror", "-c", h.path(h.setName(set)+".yaml"), h.to(set))
	if h.sparse {
		args = append(args, "--tag-untagged") // see the garbage collection of run
	}
	return args
}

// begin runs the program to its end, or, sometimes, kills it when it sends a random request to the mirror.
func (h *history) begin(may bool, args ...string) {
	h.t.Helper()
	if !may || h.r.IntN(2) == 0 {
		if o := h.gantry(args...); o.code != exitOK {
			h.t.Fatalf("%s ended with %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
		}
		h.say("%s", args[0])
		return
	}
	at, served := 1+h.r.IntN(50), h.r.IntN(2) == 0
	cmd := h.process(h.t.Context(), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	kill, run := killable(cmd)
	h.script(true, rt.Rule{Nth: at, Action: func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		kill()
		if served {
			h.watch.serve(w, r, next)
		}
		rt.Reset()(w, r, next)
	}})
	err := run()
	h.mirror.Shut()
	h.mirror.Open()
	h.script(false)
	h.say("%s, killed at request %d (served %t): %v", args[0], at, served, err)
	if err != nil && !strings.Contains(err.Error(), "killed") {
		h.t.Fatalf("%v\n%s", err, &stderr)
	}
}

// step does one thing at random.
func (h *history) step() {
	set := h.r.IntN(2)
	switch h.r.IntN(12) {
	case 0, 1, 2:
		h.edit(set)
		h.begin(true, h.mirrorArgs(set)...)
	case 3:
		h.begin(true, h.mirrorArgs(set)...)
	case 4:
		if len(h.recorded(h.prefix(set))) > 0 {
			h.prune(true, set)
		}
	case 5:
		h.change(h.r.IntN(historyImages))
	case 6:
		h.remove(set)
	case 7:
		h.refer()
	case 8:
		h.collect(h.r.IntN(2) == 0)
	default:
		h.foreigner()
	}
}

// prune prunes in one of the ways that there are.
func (h *history) prune(may bool, set int) {
	args := h.args(set, "prune", h.to(set))
	switch h.r.IntN(5) {
	case 0:
		h.begin(false, append(args, "--save", h.path("prune.json"))...)
		h.begin(may, append(args, "--plan", h.path("prune.json"))...)
	case 1:
		h.begin(may, append(args, "--yes", "--keep-last", "2")...)
	case 2:
		h.begin(may, append(args, "--yes", "--older-than", "1h")...) // deletes nothing
	case 3:
		h.begin(may, append(h.mirrorArgs(set), "--prune")...)
	default:
		h.begin(may, append(args, "--yes")...)
	}
}

// collect lets the registry collect garbage. With --delete-untagged, it also deletes images without a tag that others attached
// something to.
func (h *history) collect(untagged bool) {
	if all, err := h.mirror.Repositories("."); err != nil || len(all) == 0 {
		h.check(err)
		return // the program of the registry refuses an empty storage
	}
	h.check(h.mirror.CollectGarbage(h.t.Context(), untagged))
	h.say("garbage collection (--delete-untagged: %t)", untagged)
	for name, present := range h.subjects {
		repository, d, _ := strings.Cut(name, "@")
		h.subjects[name] = present && (!untagged || get(h.t, h.mirror, repository, d) != nil)
	}
}

// forget gives an image set up.
func (h *history) forget(set int) {
	h.begin(false, h.args(set, "prune", "--forget", h.setName(set), "--yes", h.to(set))...)
	h.say("the image set %s is given up", h.setName(set))
	clear(h.sets[set])
}

// remove deletes an image of an image set with a list, and from its configuration.
func (h *history) remove(set int) {
	images := slices.Sorted(maps.Keys(h.sets[set]))
	if len(images) < 2 {
		return
	}
	h.begin(false, h.mirrorArgs(set)...)
	gone := images[h.r.IntN(len(images))]
	name := h.source.Host + "/" + imageOf(gone) + ":v1"
	if d := h.sets[set][gone]; d != "" {
		name = h.source.Host + "/" + imageOf(gone) + "@" + d.String()
	}
	h.write("delete.yaml", "kind: DeleteImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\ndelete:\n  additionalImages:\n  - name: "+name+"\n")
	h.begin(false, h.args(set, "delete", "--generate", "--name", h.setName(set), "-c", h.path("delete.yaml"), h.to(set))...)
	h.say("delete %s of %s", name, h.setName(set))
	h.begin(true, h.args(set, "delete", "--name", h.setName(set), "--delete-yaml-file", h.path("workspace-"+h.setName(set)+"/delete/delete-images.yaml"), h.to(set))...)
	delete(h.sets[set], gone)
	text := h.read(h.setName(set) + ".yaml")
	h.write(h.setName(set)+".yaml", strings.ReplaceAll(strings.ReplaceAll(text, "  - name: "+name+"\n"+onePlatform, ""), "  - name: "+name+"\n", ""))
}

func (h *history) run() {
	for range 6 + h.r.IntN(8) {
		h.step()
	}
	for set := range h.sets {
		h.begin(false, h.mirrorArgs(set)...)
	}
	for set := range h.sets {
		h.prune(h.r.IntN(3) == 0, set)
	}
	for set := range h.sets {
		h.begin(false, h.args(set, "prune", "--yes", h.to(set))...)
		o := h.gantry(h.args(set, "prune", h.to(set))...)
		if !strings.HasPrefix(o.stdout, "Nothing to delete") {
			h.t.Errorf("prune has more to delete:\n%s", o.stdout)
		}
		// What a killed run pushed and others refer to stays in its record.
		pending := func(tag string) bool { return strings.HasSuffix(tag, ".pending") }
		if !strings.Contains(o.stdout, "but kept") && slices.ContainsFunc(h.recorded(h.prefix(set)), pending) {
			h.t.Errorf("a run is recorded that did not end:\n%s", o.stdout)
		}
	}
	h.checkMirror("prune")
	if h.r.IntN(2) == 0 {
		h.forget(h.r.IntN(2))
		h.checkMirror("prune --forget")
	}
	h.check(h.mirror.CollectGarbage(h.t.Context(), false))
	h.checkMirror("garbage collection")
	h.check(h.mirror.CollectGarbage(h.t.Context(), true))
	h.checkMirror("garbage collection with --delete-untagged")
}
