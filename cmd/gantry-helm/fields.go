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

// A scope is where fields are: in an object or in configuration text.
type scope struct {
	place string
	group string // of the API of a custom resource
	// prefix and tag are those that the mapping, or one around it, has for images: hub, registry or
	// repository, and tag or version.
	prefix, tag string
	off         bool // the mapping, or one around it, is turned off
	nested      int  // texts around this one
}

// within returns the scope of the fields of a mapping.
func (s scope) within(fields map[string]any) scope {
	for _, key := range []string{"registry", "hub", "repository"} {
		if text := textOf(fields[key]); strings.ContainsAny(text, "./") {
			s.prefix = strings.TrimSuffix(text, "/")
		}
	}
	for _, key := range []string{"version", "tag"} {
		if text := textOf(fields[key]); text != "" {
			s.tag = text
		}
	}
	enabled, ok := fields["enabled"].(bool)
	disabled, _ := fields["disabled"].(bool)
	s.off = s.off || ok && !enabled || disabled
	return s
}

// addFields collects the fields that look like images: texts in fields called image, or named so at their
// beginning or end, and mappings there with repository and tag or digest. With scan: complete, texts in other
// fields are searched, too.
func (f *finder) addFields(s scope, v any) {
	switch v := v.(type) {
	case map[string]any:
		s = s.within(v)
		for key, value := range v {
			switch text, ok := value.(string); {
			case isImageField(key):
				f.addField(s, v, key)
			case ok:
				f.addText(s, text)
			}
			f.addFields(s, value)
		}
	case []any:
		for _, value := range v {
			if text, ok := value.(string); ok {
				f.addText(s, text)
			}
			f.addFields(s, value)
		}
	}
}

// addField collects the image in a field whose name says that it contains one.
func (f *finder) addField(s scope, fields map[string]any, key string) {
	image := imageIn(fields[key])
	if image == "" && s.group == "monitoring.coreos.com" && key == "baseImage" {
		image = baseImage(fields)
	}
	switch {
	case image != "" && f.complete && (s.off || hasWord(key, matched)):
		f.perhaps(s.place, image)
	case image != "":
		f.certain(s.place, image)
	case !s.off:
		f.perhaps(s.place, s.completed(textOf(fields[key])))
	}
}

// completed returns a name without a tag with the prefix and tag of the scope. The tag is missing if it is
// unknown. A name without a registry in an unknown place is "".
func (s scope) completed(name string) string {
	ref, err := reference.Parse(name)
	if err != nil || ref.Identifier() != "" {
		return ""
	}
	if !strings.Contains(name, "/") && s.prefix != "" {
		name = s.prefix + "/" + name
	}
	switch {
	case reference.IsShort(name) && (s.tag == "" || !strings.Contains(name, "/")):
		return ""
	case strings.HasPrefix(s.tag, "sha256:"):
		name += "@" + s.tag
	case s.tag != "":
		name += ":" + s.tag
	}
	if _, err := reference.Parse(name); err != nil {
		return ""
	}
	return name
}

// baseImage returns the image that Prometheus Operator makes of the fields of its custom resources: the
// digest in sha comes before tag and version.
func baseImage(fields map[string]any) string {
	name, sha, tag := textOf(fields["baseImage"]), textOf(fields["sha"]), textOf(fields["tag"])
	if tag == "" {
		tag = textOf(fields["version"])
	}
	switch {
	case sha != "":
		name += "@sha256:" + sha
	case tag != "":
		name += ":" + tag
	}
	if textOf(fields["image"]) != "" || !looksLikeImage(name) {
		return ""
	}
	return name
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
