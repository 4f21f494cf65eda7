package imageset

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// The prefixes of catalogs and images that are not in a registry.
const (
	ociScheme    = "oci://"
	dirScheme    = "dir://"
	dockerScheme = "docker://" // read and dropped, as oc mirror does
)

// source is the grammar of a catalog or an image: a registry reference, or one of the schemes
// followed by a folder. oc mirror reads every text, except for an image without tag and digest.
func source(schemes ...string) grammar {
	return grammar{
		late:   true,
		repair: fullSource,
		check:  func(s string) (string, string) { return sourceFault(s, schemes) },
	}
}

// fullSource returns a source without docker:// and with the registry that a short name stands for.
func fullSource(s string) (better, why string) {
	bare, ok := strings.CutPrefix(s, dockerScheme)
	if ok {
		why = "has a prefix without effect"
	}
	if ref, err := reference.Parse(bare); err == nil && reference.IsShort(bare) && ref.Identifier() != "" {
		return ref.String(), "names no registry"
	}
	return bare, why
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
		hint = `write a reference without scheme, such as "quay.io/org/name:tag"`
		if len(schemes) > 0 {
			hint += ", or begin with " + strings.Join(schemes, " or ")
		}
		// The rest may contain a password, so the message leaves it out.
		return fmt.Sprintf("%s is not supported here", quote(scheme)), hint
	}
	_, err := reference.Parse(s)
	if err == nil {
		return "", ""
	}
	hint = "write host/path:tag or host/path@sha256:..."
	if _, err := reference.Parse(strings.ToLower(s)); err == nil {
		hint = fmt.Sprintf("write %q", strings.ToLower(s))
	}
	return err.Error(), hint
}

// checkIdentifier reports a source at path that has neither tag nor digest: oc mirror has no default
// for them, and fails when it uses the source.
func checkIdentifier(r *reader, at, s string) {
	ref, err := reference.Parse(s)
	if err != nil || s == "" || strings.Contains(s, "://") || ref.Identifier() != "" {
		return
	}
	message := quote(s) + " has neither tag nor digest"
	if reference.IsShort(s) {
		message = quote(s) + " names no registry, and has neither tag nor digest"
		if base := path.Base(ref.Path); strings.HasSuffix(base, indexSuffix) {
			ref.Host, ref.Path = redHat, "redhat/"+base
		}
	}
	r.fault(at, message, fmt.Sprintf("add one, such as %q", ref.WithTag(usualTag(ref)).String()))
}

// Red Hat's catalogs are registry.redhat.io/redhat/*-operator-index.
const (
	redHat      = "registry.redhat.io"
	indexSuffix = "-operator-index"
)

// usualTag returns the tag to suggest. Red Hat's indexes and OpenShift's payloads are tagged by
// release and have no "latest".
func usualTag(ref reference.Reference) string {
	switch {
	case ref.Host == redHat && strings.HasSuffix(ref.Path, indexSuffix):
		return "v4.20"
	case ref.Host == payloadHost && ref.Path == payloadPath:
		return release.Name("4.20.5", release.DefaultArch)
	}
	return "latest"
}

// targetPath is the grammar of a repository path in the mirror, as oc mirror accepts it for
// targetCatalog and targetRepo. tagField is the name of the field for the tag.
func targetPath(tagField string) grammar {
	return grammar{max: reference.MaxPath, pattern: reference.PathPattern, check: func(s string) (string, string) {
		if reference.IsPath(s) {
			return "", ""
		}
		message := quote(s) + " is not a repository path"
		if ref, err := reference.Parse(s); err == nil && strings.Contains(ref.Host, ":") {
			return message, fmt.Sprintf("write %q; the host is always the mirror", ref.Path)
		}
		if redact.Address(s) != s {
			return message, "remove user, password and query; the host is always the mirror"
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
		return message, "write org/name: lower case letters and digits, separated by . _ or -, without host, tag and digest"
	}}
}

// tag is the grammar of a tag in the mirror.
func tag() grammar {
	return grammar{max: 128, pattern: reference.TagPattern, check: func(s string) (string, string) {
		if reference.IsTag(s) {
			return "", ""
		}
		hint := "use letters, digits and . _ -, and do not begin with . or -"
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
		t.repo = cmp.Or(t.repo, strings.ToLower(path.Base(path.Clean(dir))))
		t.tag = cmp.Or(t.tag, "latest")
		return t
	}
	ref, err := reference.Parse(source)
	if err != nil {
		return t
	}
	t.repo = cmp.Or(t.repo, ref.Path)
	t.tag = cmp.Or(t.tag, ref.Tag)
	t.tag = cmp.Or(t.tag, strings.Replace(ref.Digest.String(), ":", "-", 1))
	return t
}
