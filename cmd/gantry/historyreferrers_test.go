package main

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// attached is what clients attached to images, by the fallback of the OCI distribution specification: the list of
// referrers of an image is an index under the tag "sha256-<hex>".
type attached struct {
	// lists are the entries of others in lists of the mirror, by "repository@subject".
	lists map[string][]ocispec.Descriptor
	// subjects are the manifests of the mirror that others attached something to, by "repository@digest".
	subjects map[string]bool
	watch    listWatch
}

func newAttached() attached {
	return attached{
		lists: map[string][]ocispec.Descriptor{}, subjects: map[string]bool{},
		watch: listWatch{now: map[string]watchedList{}, replaced: map[string]bool{}},
	}
}

// fallbackTag returns the tag of the list of a manifest's referrers, and pinTag the one of an image pinned by digest.
func fallbackTag(subject digest.Digest) string { return "sha256-" + subject.Encoded() }

func pinTag(d digest.Digest) string { return "sha256-" + d.Encoded() + ".image" }

// listed returns the list of referrers of a manifest, nil if there is none.
func (h *history) listed(at *rt.Server, repository string, subject digest.Digest) *gotManifest {
	h.t.Helper()
	list := get(h.t, at, repository, fallbackTag(subject))
	if list != nil && (list.MediaType != ocispec.MediaTypeImageIndex || list.digest == subject) {
		h.t.Fatalf("%s:%s is no list of referrers: %s", repository, fallbackTag(subject), list.raw)
	}
	return list
}

// attach adds a referrer of an image of the source and its entry in the list of referrers, and returns that.
func (h *history) attach(to *rt.Server, repository string, subject digest.Digest, text string) ocispec.Descriptor {
	h.t.Helper()
	_, name, _ := strings.Cut("/"+repository, "/org/")
	raw := get(h.t, h.source, "org/"+name, subject.String())
	entry, err := to.Client().PushReferrer(h.t.Context(), repository, rt.Referrer{
		Subject: ocispec.Descriptor{MediaType: raw.MediaType, Digest: subject, Size: int64(len(raw.raw))}, ArtifactType: "application/x-history", Text: text,
	})
	h.check(err)
	var list []ocispec.Descriptor
	if before := h.listed(to, repository, subject); before != nil {
		list = before.Manifests
	}
	h.check(to.Client().PushReferrersTag(h.t.Context(), repository, subject, append(list, entry)...))
	return entry
}

// known returns an image that the source has or had: the current one, or one that is pinned.
func (h *history) known(i int) digest.Digest {
	all := []digest.Digest{h.at[i]}
	for _, set := range h.sets {
		if d := set[i]; d != "" {
			all = append(all, d)
		}
	}
	return all[h.r.IntN(len(all))]
}

// refer attaches something to an image of the source, or removes something.
func (h *history) refer() {
	i := h.r.IntN(historyImages)
	subject := h.known(i)
	list := h.listed(h.source, imageOf(i), subject)
	if list == nil || len(list.Manifests) == 0 || h.r.IntN(3) == 0 {
		h.count++
		entry := h.attach(h.source, imageOf(i), subject, fmt.Sprint("late", h.count))
		h.say("the source attached %s to app%d@%s", entry.Digest, i, subject)
		return
	}
	at := h.r.IntN(len(list.Manifests))
	gone, left := list.Manifests[at].Digest, slices.Delete(slices.Clone(list.Manifests), at, at+1)
	how := "and left an empty list"
	if len(left) > 0 || h.r.IntN(2) == 0 {
		h.check(h.source.Client().PushReferrersTag(h.t.Context(), imageOf(i), subject, left...))
	} else {
		h.erase(imageOf(i), list.digest)
		how = "and its list"
	}
	if h.r.IntN(2) == 0 {
		h.erase(imageOf(i), gone)
		how += ", and deleted it"
	}
	h.say("the source removed %s of app%d@%s %s", gone, i, subject, how)
}

// erase deletes a manifest of the source.
func (h *history) erase(repository string, d digest.Digest) {
	h.t.Helper()
	if status, _, body := rawRequest(h.t, http.MethodDelete, h.source.URL()+"/v2/"+repository+"/manifests/"+d.String()); status != http.StatusAccepted {
		h.t.Fatalf("deleting %s@%s of the source: %d\n%s", repository, d, status, body)
	}
}

// foreigner pushes a tag or a referrer of another client to a repository of the mirror.
func (h *history) foreigner() {
	i := h.r.IntN(historyImages)
	repository := "m/" + imageOf(i)
	if h.sparse && h.r.IntN(3) == 0 {
		repository = "n/" + imageOf(i)
	}
	h.count++
	tag := fmt.Sprintf("site-%d", h.count)
	now := get(h.t, h.mirror, repository, "v1")
	switch kind := h.r.IntN(5); {
	case kind == 0 && now != nil: // another tag for what was mirrored
		_, err := h.mirror.Client().PushRaw(h.t.Context(), repository, tag, now.MediaType, now.raw)
		h.check(err)
		h.foreign[repository+":"+tag] = now.digest
		h.say("another client tagged %s:v1 as %s: %s", repository, tag, now.digest)
	case kind == 1:
		d, err := h.mirror.Client().Push(h.t.Context(), repository, tag, h.content(tag, h.r.IntN(2) == 0))
		h.check(err)
		h.foreign[repository+":"+tag] = d
		h.say("another client pushed %s:%s: %s", repository, tag, d)
	default:
		subject := h.known(i)
		if now != nil && h.r.IntN(2) == 0 {
			subject = now.digest
		}
		h.attachForeign(repository, subject, tag)
	}
}

// attachForeign lets another client attach something to an image in the mirror, or to one that may come later.
func (h *history) attachForeign(repository string, subject digest.Digest, text string) {
	entry := h.attach(h.mirror, repository, subject, text)
	key := repository + "@" + subject.String()
	h.foreign[repository+"@"+entry.Digest.String()] = entry.Digest
	h.lists[key] = append(h.lists[key], entry)
	present := get(h.t, h.mirror, repository, subject.String()) != nil
	h.subjects[key] = h.subjects[key] || present
	h.say("another client attached %s to %s (present: %t)", entry.Digest, key, present)
}

// checkForeign checks that what other clients pushed is unchanged, and allows it.
func (h *history) checkForeign(at func(string) map[digest.Digest]bool, fail func(string, ...any)) {
	h.t.Helper()
	for name, d := range h.foreign {
		repository, tag, tagged := strings.Cut(name, ":site-")
		if tag = "site-" + tag; !tagged {
			repository, tag, _ = strings.Cut(name, "@")
		}
		if got, err := h.mirror.Client().Pull(h.t.Context(), repository, tag); err != nil || got.Digest != d {
			fail("%s of another client is not %s: %v", name, d, err)
		}
		h.closure(h.mirror, repository, tag, at(repository))
	}
	for name, entries := range h.lists {
		repository, subject, _ := strings.Cut(name, "@")
		list := h.listed(h.mirror, repository, digest.Digest(subject))
		for _, d := range entries {
			if list == nil || !slices.ContainsFunc(list.Manifests, func(m ocispec.Descriptor) bool { return reflect.DeepEqual(m, d) }) {
				fail("the list of referrers of %s does not have %s of another client", name, d.Digest)
			}
		}
		h.closure(h.mirror, repository, fallbackTag(digest.Digest(subject)), at(repository))
	}
}

// checkSubjects checks that the images of the mirror that others attached something to are there.
func (h *history) checkSubjects(fail func(string, ...any)) {
	h.t.Helper()
	for name, present := range h.subjects {
		repository, d, _ := strings.Cut(name, "@")
		if !present {
			continue
		}
		if get(h.t, h.mirror, repository, d) == nil {
			fail("%s is gone, and another client attached something to it", name)
		} else if _, err := h.mirror.Client().Pull(h.t.Context(), repository, d); err != nil && strings.HasPrefix(repository, "m/") {
			fail("%s is not whole, and another client attached something to it: %v", name, err)
		}
	}
}

// checkReferrers checks that a wanted image has the signature and the referrers of its source and those of other
// clients, and no other.
func (h *history) checkReferrers(repository string, i int, d digest.Digest, fail func(string, ...any)) {
	h.t.Helper()
	want, got := map[digest.Digest]bool{}, map[digest.Digest]bool{}
	if list := h.listed(h.source, imageOf(i), d); list != nil {
		for _, m := range list.Manifests {
			want[m.Digest] = true
		}
	}
	for _, m := range h.lists[repository+"@"+d.String()] {
		want[m.Digest] = true
	}
	if list := h.listed(h.mirror, repository, d); list != nil {
		for _, m := range list.Manifests {
			got[m.Digest] = true
			if _, err := h.mirror.Client().Pull(h.t.Context(), repository, m.Digest.String()); err != nil {
				fail("a referrer of %s@%s: %v", repository, d, err)
			}
		}
	}
	if !maps.Equal(want, got) {
		fail("the referrers of %s@%s are\n%v, want\n%v", repository, d, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	signature := fallbackTag(d) + ".sig"
	if want := get(h.t, h.source, imageOf(i), signature); want != nil {
		if got, err := h.mirror.Client().Pull(h.t.Context(), repository, signature); err != nil || got.Digest != want.digest {
			fail("the signature of %s@%s: %v", repository, d, err)
		}
	}
}

// belongsToKept reports whether a manifest is a signature or a referrer, listed or not, of an image that another client
// attached something to, also if a killed run pushed these and not yet the image. Prune keeps them together. The signature has a tag, and is left
// when the registry deletes the image, which has none.
func (h *history) belongsToKept(r rt.Repository, d digest.Digest, m *gotManifest) bool {
	for name := range h.subjects {
		repository, text, _ := strings.Cut(name, "@")
		subject := digest.Digest(text)
		if repository == r.Name && (m.Subject != nil && m.Subject.Digest == subject || r.Tags[fallbackTag(subject)+".sig"] == d) {
			return true
		}
	}
	return false
}
