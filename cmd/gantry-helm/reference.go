package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// imageNames end the names of fields, variables and arguments that contain an image.
var imageNames = []string{"image", "imagename", "imageref", "imagereference", "imageurl"}

// isImageField reports whether a name is "image", "sidecarImage", "RELATED_IMAGE_X", "--image-ref" or the
// like. Policies and secrets for pulling are not images.
func isImageField(name string) bool {
	name = plainName(name)
	return slices.ContainsFunc(imageNames, func(end string) bool { return strings.HasSuffix(name, end) }) || strings.HasPrefix(name, "relatedimage")
}

// isImageList reports whether a name is the one of several images, such as KAFKA_IMAGES.
func isImageList(name string) bool { return strings.HasSuffix(plainName(name), "images") }

// plainName returns a name in lower case, without what separates its words.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// matched are words in names of references that are compared with others, and not run; artifacts are words in
// names of what is read and is not an image.
var (
	matched   = []string{"allow", "deny", "block", "exclude", "ignore", "skip", "trusted"}
	artifacts = []string{"chart", "bundle", "artifact"}
)

// hasWord reports whether a name contains one of some words.
func hasWord(name string, words []string) bool {
	name = plainName(name)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// looksLikeImage reports whether a text is a reference with a tag or digest. A single word is more
// often the name of something else.
func looksLikeImage(s string) bool {
	ref, err := reference.Parse(s)
	return err == nil && ref.Identifier() != ""
}

// isFull reports whether a text is a reference that can be nothing else: it has a registry with a dot, and
// a tag or digest. A number alone may be a port.
func isFull(s string) bool {
	ref, err := reference.Parse(s)
	return err == nil && !reference.IsShort(s) && strings.Contains(ref.Host, ".") && ref.Identifier() != "" &&
		(ref.Digest != "" || strings.Trim(ref.Tag, "0123456789") != "")
}

// isNear reports whether a reference names a registry in the cluster, which no mirror can have.
func isNear(s string) bool {
	host, _, _ := strings.Cut(s, "/")
	host, _, _ = strings.Cut(host, ":")
	return host == "localhost" || strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".local")
}

// fullReference matches references with a registry and a tag or digest in a text.
var fullReference = regexp.MustCompile(`(?:[a-z0-9-]+\.)+[a-z0-9-]+(?::[0-9]+)?/[a-z0-9._/-]*[a-z0-9](?::\w[\w.-]*)?(?:@sha256:[0-9a-f]{64})?`)

// referencesIn returns the references in a text that have a registry and a tag or digest. Parts of
// addresses with a scheme are none.
func referencesIn(text string) (all []string) {
	for _, at := range fullReference.FindAllStringIndex(text, -1) {
		found := strings.TrimRight(text[at[0]:at[1]], ".-")
		before := text[:at[0]]
		if looksLikeImage(found) && !strings.HasSuffix(before, "/") && !strings.HasSuffix(before, "@") {
			all = append(all, found)
		}
	}
	return all
}
