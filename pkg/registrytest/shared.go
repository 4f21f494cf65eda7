package registrytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
)

// shared are the registry processes that servers without special options share, by the name of the registry. Each server
// has a front and a namespace of its own: its repositories lie below a prefix that its clients do not see. A process ends
// with the last server that uses it.
var shared struct {
	mu sync.Mutex
	by map[string]*sharedProcess
}

// sharedBy returns the process of a registry that servers share.
func sharedBy(r Registry) *sharedProcess {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.by == nil {
		shared.by = map[string]*sharedProcess{}
	}
	if shared.by[r.Name] == nil {
		shared.by[r.Name] = &sharedProcess{inMemory: !r.Files}
	}
	return shared.by[r.Name]
}

type sharedProcess struct {
	inMemory bool

	mu      sync.Mutex
	process *process
	users   int
	last    int             // number of the last namespace
	blobs   map[string]bool // folders of Keep whose blobs are in the storage
}

// acquire starts the process if necessary and returns it with a new namespace. The namespace begins
// with the content of a folder of Keep, unless content is "".
func (s *sharedProcess) acquire(ctx context.Context, program, content string) (p *process, namespace string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		if err := s.start(ctx, program); err != nil {
			return nil, "", err
		}
	}
	s.users++
	namespace = s.next()
	if content == "" {
		return s.process, namespace, nil
	}
	if err := fillStorage(s.process.storage(), content, namespace, !s.blobs[content]); err != nil {
		return nil, "", errors.Join(fmt.Errorf("filling the registry: %w", err), s.leave())
	}
	s.blobs[content] = true
	return s.process, namespace, nil
}

// next returns the name of a new namespace; s.mu is held.
func (s *sharedProcess) next() string {
	s.last++
	return fmt.Sprintf("namespace%06d", s.last) // all have the same length, so that names sort by namespace
}

func (s *sharedProcess) start(ctx context.Context, program string) error {
	dir, err := newFolder()
	if err != nil {
		return err
	}
	p, err := newProcess(processConfig{program: program, dir: dir, inMemory: s.inMemory})
	if err == nil {
		if err = p.start(ctx); err != nil {
			p.close()
		}
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	s.process, s.blobs = p, map[string]bool{}
	return nil
}

func (s *sharedProcess) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leave()
}

func (s *sharedProcess) leave() error {
	if s.users--; s.users > 0 {
		return nil
	}
	p := s.process
	s.process = nil
	p.close()
	return os.RemoveAll(p.dir)
}

// enterNamespace changes a request of a client to one in the namespace.
func enterNamespace(r *http.Request, namespace string) {
	if namespace == "" || !strings.HasPrefix(r.URL.Path, "/v2/") || r.URL.Path == "/v2/" {
		return
	}
	query := r.URL.Query()
	if r.URL.Path == "/v2/_catalog" {
		query.Set("last", namespace+"/"+query.Get("last"))
		r.URL.RawQuery = query.Encode()
		return
	}
	r.URL.Path = "/v2/" + namespace + "/" + strings.TrimPrefix(r.URL.Path, "/v2/")
	if rest, ok := strings.CutPrefix(r.URL.RawPath, "/v2/"); ok {
		r.URL.RawPath = "/v2/" + namespace + "/" + rest
	}
	if query.Has("from") {
		query.Set("from", namespace+"/"+query.Get("from"))
		r.URL.RawQuery = query.Encode()
	}
}

// leaveNamespace removes the namespace from a response.
func leaveNamespace(resp *http.Response, namespace string) error {
	if namespace == "" {
		return nil
	}
	for _, name := range []string{"Location", "Link"} {
		if v := resp.Header.Get(name); v != "" {
			v = strings.ReplaceAll(v, "/v2/"+namespace+"/", "/v2/")
			resp.Header.Set(name, strings.ReplaceAll(v, url.QueryEscape(namespace+"/"), ""))
		}
	}
	isCatalog := resp.Request.URL.Path == "/v2/_catalog"
	if resp.Request.Method == http.MethodHead || resp.StatusCode < http.StatusBadRequest && !isCatalog && !strings.HasSuffix(resp.Request.URL.Path, "/tags/list") {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, blobLimit))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return err
	}
	if isCatalog && resp.StatusCode == http.StatusOK {
		if body, err = namespaceCatalog(resp.Header, body, namespace); err != nil {
			return err
		}
	}
	body = bytes.ReplaceAll(body, []byte(namespace+"/"), nil)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// namespaceCatalog removes the repositories of other namespaces from a list of all. These follow
// after the last one of the namespace.
func namespaceCatalog(header http.Header, body []byte, namespace string) ([]byte, error) {
	var all, kept struct {
		Repositories []string `json:"repositories"`
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, err
	}
	kept.Repositories = []string{}
	for _, name := range all.Repositories {
		if strings.HasPrefix(name, namespace+"/") {
			kept.Repositories = append(kept.Repositories, name)
		}
	}
	if len(kept.Repositories) < len(all.Repositories) {
		header.Del("Link")
	}
	return json.Marshal(kept)
}
