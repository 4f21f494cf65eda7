package reference

import (
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// What Docker adds to a name without host, and to a name without namespace.
const (
	dockerHost       = "docker.io"
	dockerIndex      = "index.docker.io" // an older name of it
	dockerRepository = "library/"
)

var errFormat = errors.New("invalid reference format")

// parse reads a reference by the rules of ParseNormalizedNamed in github.com/distribution/reference.
// These also accept a first component that is not a host, such as "a_b.example" in
// "a_b.example/name", if it could be part of a path.
func parse(s string) (Reference, error) {
	if len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" {
		return Reference{}, fmt.Errorf("%w: 64 hexadecimal digits are the ID of an image", errFormat)
	}
	host, rest := splitHost(s)
	if repository, _, _ := strings.Cut(rest, ":"); strings.ToLower(repository) != repository {
		return Reference{}, fmt.Errorf("%w: repository name (%s) must be lowercase", errFormat, repository)
	}
	name, suffix := rest, ""
	if i := strings.IndexAny(rest[strings.LastIndexByte(rest, '/')+1:], ":@"); i >= 0 {
		i += strings.LastIndexByte(rest, '/') + 1
		name, suffix = rest[:i], rest[i:]
	}
	if !isPath(name) || !isHost(host) && !isPath(host) {
		return Reference{}, errFormat
	}
	r := Reference{Host: host, Path: name}
	if len(name) > MaxPath || !isHost(host) && len(host)+1+len(name) > MaxPath {
		return Reference{}, fmt.Errorf("repository name must not be more than %d characters", MaxPath)
	}
	tag, hash, hasDigest := strings.Cut(suffix, "@")
	if tag != "" {
		if r.Tag = tag[1:]; !IsTag(r.Tag) {
			return Reference{}, errFormat
		}
	}
	if hasDigest {
		if !isDigest(hash) {
			return Reference{}, errFormat
		}
		var err error
		if r.Digest, err = digest.Parse(hash); err != nil {
			return Reference{}, err
		}
	}
	return r, nil
}

// splitHost returns the host of a reference, or Docker's, and the rest.
func splitHost(s string) (host, rest string) {
	host, rest, ok := strings.Cut(s, "/")
	switch {
	case !ok:
		return dockerHost, dockerRepository + s
	case host == dockerIndex:
		host = dockerHost
	case host != "localhost" && !strings.ContainsAny(host, ".:") && strings.ToLower(host) == host:
		host, rest = dockerHost, s
	}
	if host == dockerHost && !strings.Contains(rest, "/") {
		rest = dockerRepository + rest
	}
	return host, rest
}
