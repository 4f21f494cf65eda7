package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A loopback is a registry for measurements. It serves layers from the files of the corpus, and keeps
// of uploaded blobs only the digest and the size, so that the disk of the registry is not measured.
type loopback struct {
	mu        sync.Mutex
	files     map[string]string // the layers that it serves, by digest
	small     map[string]string // other blobs that it serves, by digest
	received  map[string]int64  // the sizes of uploaded blobs, by digest
	manifests map[string]string // by "repository:tag" and "repository:digest"
	uploads   []*upload
}

// An upload is a blob that is not yet complete.
type upload struct {
	hash hash.Hash
	size int64
}

func newLoopback() *loopback {
	return &loopback{files: map[string]string{}, small: map[string]string{}, received: map[string]int64{}, manifests: map[string]string{}}
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// add serves an image of one layer, compressed as a blob, and returns its name with the tag.
func (g *loopback) add(l layer, b blob, file string) (string, error) {
	config := fmt.Sprintf(`{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}`, l.SHA256)
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digestOf(config), "size": len(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": "sha256:" + b.SHA256, "size": b.Size}},
	})
	if err != nil {
		return "", err
	}
	tag := strings.Map(func(r rune) rune {
		if strings.ContainsRune("+:~/", r) {
			return '-'
		}
		return r
	}, l.Version)
	g.files["sha256:"+b.SHA256], g.small[digestOf(config)] = file, config
	image := "corpus/" + strings.ToLower(l.Series) + ":" + tag
	g.manifests[image] = string(manifest)
	g.manifests["corpus/"+strings.ToLower(l.Series)+":"+digestOf(string(manifest))] = string(manifest)
	return image, nil
}

// compare checks that the registry has all images of another one.
func (g *loopback) compare(source *loopback) error {
	var problems []error
	for name, manifest := range source.manifests {
		if g.manifests[name] != manifest {
			problems = append(problems, fmt.Errorf("%s is missing or differs after the import", name))
		}
	}
	for digest, config := range source.small {
		if g.received[digest] != int64(len(config)) {
			problems = append(problems, fmt.Errorf("%s is missing after the import", digest))
		}
	}
	for digest, file := range source.files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		if g.received[digest] != info.Size() {
			problems = append(problems, fmt.Errorf("%s, %s, is missing after the import", digest, file))
		}
	}
	return errors.Join(problems...)
}

func (g *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	repository, reference, isManifest := strings.Cut(path, "/manifests/")
	_, id, isUpload := strings.Cut(path, "/blobs/uploads/")
	_, digest, isBlob := strings.Cut(path, "/blobs/")
	switch {
	case path == "":
	case isManifest:
		g.manifest(w, r, repository, reference)
	case isUpload:
		g.upload(w, r, id)
	case isBlob:
		g.blob(w, r, digest)
	default:
		refuse(w, http.StatusNotFound, "NAME_UNKNOWN")
	}
}

func (g *loopback) manifest(w http.ResponseWriter, r *http.Request, repository, reference string) {
	if r.Method == http.MethodPut {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(w, http.StatusBadRequest, "MANIFEST_INVALID")
			return
		}
		g.mu.Lock()
		g.manifests[repository+":"+reference] = string(b)
		g.manifests[repository+":"+digestOf(string(b))] = string(b)
		g.mu.Unlock()
		w.Header().Set("Docker-Content-Digest", digestOf(string(b)))
		w.WriteHeader(http.StatusCreated)
		return
	}
	g.mu.Lock()
	manifest, ok := g.manifests[repository+":"+reference]
	g.mu.Unlock()
	if !ok {
		refuse(w, http.StatusNotFound, "MANIFEST_UNKNOWN")
		return
	}
	w.Header().Set("Content-Type", manifestType)
	w.Header().Set("Docker-Content-Digest", digestOf(manifest))
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(manifest))
}

func (g *loopback) blob(w http.ResponseWriter, r *http.Request, digest string) {
	g.mu.Lock()
	file, isFile := g.files[digest]
	small, isSmall := g.small[digest]
	size, wasReceived := g.received[digest]
	g.mu.Unlock()
	w.Header().Set("Docker-Content-Digest", digest)
	w.Header().Set("Content-Type", "application/octet-stream")
	switch {
	case isFile:
		http.ServeFile(w, r, file)
	case isSmall:
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(small))
	case wasReceived && r.Method == http.MethodHead:
		w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	default:
		refuse(w, http.StatusNotFound, "BLOB_UNKNOWN")
	}
}

// upload handles an upload session. Its number is at the end of the address.
func (g *loopback) upload(w http.ResponseWriter, r *http.Request, id string) {
	g.mu.Lock()
	if r.Method == http.MethodPost {
		id = strconv.Itoa(len(g.uploads))
		g.uploads = append(g.uploads, &upload{hash: sha256.New()})
	}
	i, err := strconv.Atoi(id)
	if err != nil || i < 0 || i >= len(g.uploads) {
		g.mu.Unlock()
		refuse(w, http.StatusNotFound, "BLOB_UPLOAD_UNKNOWN")
		return
	}
	u := g.uploads[i]
	g.mu.Unlock()
	n, err := io.Copy(u.hash, r.Body)
	u.size += n
	digest := "sha256:" + hex.EncodeToString(u.hash.Sum(nil))
	switch {
	case err != nil:
		refuse(w, http.StatusBadRequest, "BLOB_UPLOAD_INVALID")
	case r.Method != http.MethodPut:
		w.Header().Set("Location", "/v2/corpus/blobs/uploads/"+id)
		w.Header().Set("Range", fmt.Sprintf("0-%d", max(0, u.size-1)))
		w.WriteHeader(http.StatusAccepted)
	case r.URL.Query().Get("digest") != digest:
		refuse(w, http.StatusBadRequest, "DIGEST_INVALID")
	default:
		g.mu.Lock()
		g.received[digest] = u.size
		g.mu.Unlock()
		w.Header().Set("Docker-Content-Digest", digest)
		w.WriteHeader(http.StatusCreated)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, http.StatusText(status))
}

func digestOf(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }
