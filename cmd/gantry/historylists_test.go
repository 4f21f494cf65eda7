package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	rt "github.com/gantry-mirror/gantry/pkg/registrytest"
)

// A listWatch sees which lists of referrers are pushed to the mirror. A client that attaches something pushes a longer
// list under the same tag, and does not delete the one before: mirror deletes nothing, and the specification does not
// ask other clients to. So the registry has it until it collects garbage with --delete-untagged. Prune and delete push
// shorter lists, and delete the one before, unless they are killed in between.
type listWatch struct {
	mu sync.Mutex
	// now are the lists by "repository:tag".
	now map[string]watchedList
	// replaced are the lists that may be left without a tag, by "repository@digest".
	replaced map[string]bool
	killing  bool // the program that runs is killed
}

type watchedList struct {
	digest  digest.Digest
	entries []digest.Digest
}

// rule is the rule of the mirror that sees the lists.
func (l *listWatch) rule() rt.Rule {
	return rt.Rule{Method: http.MethodPut, Path: "/manifests/sha256-[0-9a-f]{64}$", Action: l.serve}
}

// A statusWriter remembers the status of a response.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// serve passes a request to the registry, and sees what it pushes.
func (l *listWatch) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	repository, tag, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/"), "/manifests/")
	if r.Method != http.MethodPut || !ok || !strings.HasPrefix(tag, "sha256-") {
		next.ServeHTTP(w, r)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	got := &statusWriter{ResponseWriter: w}
	next.ServeHTTP(got, r)
	var index ocispec.Index
	if got.status != http.StatusCreated || json.Unmarshal(raw, &index) != nil {
		return
	}
	list := watchedList{digest: digest.FromBytes(raw)}
	for _, m := range index.Manifests {
		list.entries = append(list.entries, m.Digest)
	}
	name := repository + ":" + tag
	before := l.now[name]
	l.now[name] = list
	longer := !slices.ContainsFunc(before.entries, func(d digest.Digest) bool { return !slices.Contains(list.entries, d) })
	if longer || l.killing {
		l.replaced[repository+"@"+before.digest.String()] = true
	}
}

// script sets the rules of the mirror, and says whether they kill the program that runs next.
func (h *history) script(killing bool, rules ...rt.Rule) {
	h.watch.mu.Lock()
	h.watch.killing = killing
	h.watch.mu.Unlock()
	h.mirror.Script(append(rules, h.watch.rule())...)
}
