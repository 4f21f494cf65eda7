package imageset

import (
	"fmt"
	"path"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// The schemes that a catalog or an image may have in place of a registry.
const (
	ociScheme    = "oci://"
	dirScheme    = "dir://"
	dockerScheme = "docker://" // accepted and dropped, as oc mirror does
)

// source is the grammar of a catalog or an image: a registry reference, or a
// folder behind one of the schemes.
func source(schemes ...string) grammar {
	return grammar{
		clean: func(s string) string { return strings.TrimPrefix(s, dockerScheme) },
		check: func(s string) (string, string) { return sourceFault(s, schemes) },
	}
}

func sourceFault(s string, schemes []string) (message, hint string) {
	if scheme, rest, ok := strings.Cut(s, "://"); ok {
		scheme += "://"
		for _, known := range schemes {
			switch {
			case scheme != known:
			case rest == "":
				return quote(s) + " names no folder", fmt.Sprintf("write %q", scheme+"/path/to/folder")
			default:
				return "", ""
			}
		}
		hint = `give host and path alone, such as "quay.io/org/name:tag"`
		if len(schemes) > 0 {
			hint += ", or begin with " + strings.Join(schemes, " or ")
		}
		// The rest may hold a password: it is not repeated.
		return fmt.Sprintf("%s is not a way to name this", quote(scheme)), hint
	}
	ref, err := reference.Parse(s)
	if err != nil {
		hint = "it reads host/path:tag or host/path@sha256:..."
		if _, err := reference.Parse(strings.ToLower(s)); err == nil {
			hint = fmt.Sprintf("write %q", strings.ToLower(s))
		}
		return err.Error(), hint
	}
	if reference.IsShort(s) {
		if base := path.Base(ref.Path); strings.HasSuffix(base, indexSuffix) {
			ref.Host, ref.Path = redHat, "redhat/"+base
		}
		if ref.Identifier() == "" {
			ref.Tag = usualTag(ref)
		}
		return quote(s) + " leaves the registry out", fmt.Sprintf("write it in full, such as %q", ref.String())
	}
	if ref.Identifier() == "" {
		return quote(s) + " has neither tag nor digest", fmt.Sprintf("add one, such as %q", ref.WithTag(usualTag(ref)).String())
	}
	return "", ""
}

// Red Hat's catalogs are registry.redhat.io/redhat/*-operator-index.
const (
	redHat      = "registry.redhat.io"
	indexSuffix = "-operator-index"
)

// usualTag is the tag to suggest. The indexes of Red Hat and the payloads of
// OpenShift are tagged by release and have no "latest".
func usualTag(ref reference.Reference) string {
	switch {
	case ref.Host == redHat && strings.HasSuffix(ref.Path, indexSuffix):
		return "v4.20"
	case ref.Host == payloadHost && ref.Path == payloadPath:
		return release.Name("4.20.5", release.DefaultArch)
	}
	return "latest"
}

// targetPath is the grammar of a repository path in the mirror, the one that oc
// mirror takes for targetCatalog and targetRepo. tagField is where its tag
// belongs.
func targetPath(tagField string) grammar {
	return grammar{max: reference.MaxPath, pattern: reference.PathPattern, check: func(s string) (string, string) {
		if reference.IsPath(s) {
			return "", ""
		}
		message := quote(s) + " is not a repository path"
		if ref, err := reference.Parse(s); err == nil && strings.Contains(ref.Host, ":") {
			return message, fmt.Sprintf("write %q; the host is that of the mirror", ref.Path)
		}
		repo, digest, isDigest := strings.Cut(s, "@")
		repo, tag, isTag := strings.Cut(repo, ":")
		switch {
		case isDigest && digest != "" && reference.IsPath(repo):
			return message, fmt.Sprintf("write %q; a digest cannot be chosen", repo)
		case isTag && reference.IsTag(tag) && reference.IsPath(repo):
			return message, fmt.Sprintf("write %q and `%s: %s`", repo, tagField, tag)
		case reference.IsPath(strings.ToLower(strings.Trim(s, "/"))):
			return message, fmt.Sprintf("write %q", strings.ToLower(strings.Trim(s, "/")))
		}
		return message, "it reads org/name: lower case letters and digits with . _ - between them, without host, tag and digest"
	}}
}

// tag is the grammar of a tag in the mirror.
func tag() grammar {
	return grammar{max: 128, pattern: reference.TagPattern, check: func(s string) (string, string) {
		if reference.IsTag(s) {
			return "", ""
		}
		hint := "it holds letters, digits and . _ - and begins with none of . and -"
		if bare := strings.TrimLeft(s, ":"); reference.IsTag(bare) {
			hint = fmt.Sprintf("write %q", bare)
		}
		return quote(s) + " is not a tag", hint
	}}
}

// A target is where a catalog or image goes in the mirror, as far as the
// configuration alone decides it.
type target struct{ repo, tag string }

// targetOf follows oc mirror: the source's own path and tag where nothing else
// is set, the folder's name and "latest" for a folder. An image by digest alone
// has a tag that no other digest has.
func targetOf(source, repo, tag string) target {
	t := target{repo: repo, tag: tag}
	if _, dir, ok := strings.Cut(source, "://"); ok {
		if t.repo == "" {
			t.repo = strings.ToLower(path.Base(path.Clean(dir)))
		}
		if t.tag == "" {
			t.tag = "latest"
		}
		return t
	}
	ref, err := reference.Parse(source)
	if err != nil {
		return t
	}
	if t.repo == "" {
		t.repo = ref.Path
	}
	if t.tag == "" {
		t.tag = ref.Tag
	}
	if t.tag == "" {
		t.tag = strings.Replace(ref.Digest.String(), ":", "-", 1)
	}
	return t
}
