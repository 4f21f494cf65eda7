package main

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// isCustom reports whether an API version is one of a custom resource: its group has a dot and is
// not one of Kubernetes itself.
func isCustom(apiVersion string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	return ok && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".x-k8s.io")
}

// addFields collects the fields of a custom resource that look like images: texts in fields called
// image, or named so at their beginning or end, and mappings there with repository and tag or digest.
func (f *finder) addFields(owner string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if isImageField(key) {
				f.found(owner, imageIn(value))
			}
			f.addFields(owner, value)
		}
	case []any:
		for _, value := range v {
			f.addFields(owner, value)
		}
	}
}

// isImageField reports whether a field is called "image", "sidecarImage", "image_name", "imageRef" or
// the like. Policies and secrets for pulling are not images.
func isImageField(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	switch name {
	case "image", "imagename", "imageref", "imagereference", "imageurl":
		return true
	}
	return strings.HasSuffix(name, "image")
}

// imageIn returns the image that a field has, or "".
func imageIn(v any) string {
	switch v := v.(type) {
	case string:
		if looksLikeImage(v) {
			return v
		}
	case map[string]any:
		name := textOf(v["repository"])
		if name == "" {
			name = textOf(v["name"])
		}
		if registry := textOf(v["registry"]); registry != "" && name != "" {
			name = strings.TrimSuffix(registry, "/") + "/" + name
		}
		if tag := textOf(v["tag"]); tag != "" {
			name += ":" + tag
		} else if version := textOf(v["version"]); version != "" {
			name += ":" + version
		}
		if digest := textOf(v["digest"]); digest != "" {
			name += "@" + digest
		}
		if looksLikeImage(name) {
			return name
		}
	}
	return ""
}

// looksLikeImage reports whether a text is a reference with a tag or digest. A single word is more
// often the name of something else.
func looksLikeImage(s string) bool {
	ref, err := reference.Parse(s)
	return err == nil && ref.Identifier() != ""
}
