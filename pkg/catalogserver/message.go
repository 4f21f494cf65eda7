package catalogserver

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
)

// The messages of package api, as operator-registry's pkg/api/registry.proto
// numbers their fields. All fields are text unless they say otherwise.

// registryFile describes both services.
func registryFile() rpc.File {
	many := func(name, typ string, number int32) rpc.Field {
		return rpc.Field{Name: name, Number: number, Type: typ, Repeated: true}
	}
	deprecation := func(number int32) rpc.Field {
		return rpc.Field{Name: "deprecation", Number: number, Type: "api.Deprecation"}
	}
	gvk := texts("group", "version", "kind", "plural")
	bundle := texts("csvName", "packageName", "channelName", "csvJson")
	return rpc.File{
		Name: "pkg/api/registry.proto", Package: "api", Imports: []string{"google/protobuf/struct.proto"},
		Messages: []rpc.Message{
			{Name: "Channel", Fields: append(texts("name", "csvName"), deprecation(3))},
			{Name: "PackageName", Fields: texts("name")},
			{Name: "Package", Fields: []rpc.Field{
				{Name: "name", Number: 1}, many("channels", "api.Channel", 2), {Name: "defaultChannelName", Number: 3}, deprecation(4),
			}},
			{Name: "GroupVersionKind", Fields: gvk},
			{Name: "Dependency", Fields: texts("type", "value")},
			{Name: "Property", Fields: texts("type", "value")},
			{Name: "Bundle", Fields: append(bundle,
				many("object", "", 5), rpc.Field{Name: "bundlePath", Number: 6},
				many("providedApis", "api.GroupVersionKind", 7), many("requiredApis", "api.GroupVersionKind", 8),
				rpc.Field{Name: "version", Number: 9}, rpc.Field{Name: "skipRange", Number: 10},
				many("dependencies", "api.Dependency", 11), many("properties", "api.Property", 12),
				rpc.Field{Name: "replaces", Number: 13}, many("skips", "", 14), deprecation(15),
			)},
			{Name: "ChannelEntry", Fields: texts("packageName", "channelName", "bundleName", "replaces")},
			{Name: "ListPackageRequest"},
			{Name: "ListBundlesRequest"},
			{Name: "GetPackageRequest", Fields: texts("name")},
			{Name: "GetBundleRequest", Fields: texts("pkgName", "channelName", "csvName")},
			{Name: "GetBundleInChannelRequest", Fields: texts("pkgName", "channelName")},
			{Name: "GetAllReplacementsRequest", Fields: texts("csvName")},
			{Name: "GetReplacementRequest", Fields: texts("csvName", "pkgName", "channelName")},
			{Name: "GetAllProvidersRequest", Fields: gvk},
			{Name: "GetLatestProvidersRequest", Fields: gvk},
			{Name: "GetDefaultProviderRequest", Fields: gvk},
			{Name: "Deprecation", Fields: texts("message")},
			{Name: "ExperimentalListPackageCustomSchemasRequest", Fields: texts("schema", "packageName")},
		},
		Services: []rpc.Service{
			{Name: "Registry", Calls: []rpc.Signature{
				{Name: "ListPackages", Takes: "api.ListPackageRequest", Gives: "api.PackageName", ManyOut: true},
				{Name: "GetPackage", Takes: "api.GetPackageRequest", Gives: "api.Package"},
				{Name: "GetBundle", Takes: "api.GetBundleRequest", Gives: "api.Bundle"},
				{Name: "GetBundleForChannel", Takes: "api.GetBundleInChannelRequest", Gives: "api.Bundle"},
				{Name: "GetChannelEntriesThatReplace", Takes: "api.GetAllReplacementsRequest", Gives: "api.ChannelEntry", ManyOut: true},
				{Name: "GetBundleThatReplaces", Takes: "api.GetReplacementRequest", Gives: "api.Bundle"},
				{Name: "GetChannelEntriesThatProvide", Takes: "api.GetAllProvidersRequest", Gives: "api.ChannelEntry", ManyOut: true},
				{Name: "GetLatestChannelEntriesThatProvide", Takes: "api.GetLatestProvidersRequest", Gives: "api.ChannelEntry", ManyOut: true},
				{Name: "GetDefaultBundleThatProvides", Takes: "api.GetDefaultProviderRequest", Gives: "api.Bundle"},
				{Name: "ListBundles", Takes: "api.ListBundlesRequest", Gives: "api.Bundle", ManyOut: true},
			}},
			{Name: "ExperimentalRegistry", Calls: []rpc.Signature{{
				Name: "ExperimentalListPackageCustomSchemas", Takes: "api.ExperimentalListPackageCustomSchemasRequest",
				Gives: "google.protobuf.Struct", ManyOut: true,
			}}},
		},
	}
}

// texts are fields of text, numbered from 1.
func texts(names ...string) []rpc.Field {
	fields := make([]rpc.Field, len(names), len(names)+1)
	for i, name := range names {
		fields[i] = rpc.Field{Name: name, Number: int32(i + 1)}
	}
	return fields
}

// A message is an encoded message that grows.
type message []byte

// text adds a field of text.
func (m *message) text(field protowire.Number, text string) {
	*m = rpc.AppendText(*m, field, text)
}

// element adds an element of a repeated field of text; an empty one counts.
func (m *message) element(field protowire.Number, text string) {
	*m = rpc.AppendMessage(*m, field, []byte(text))
}

// part adds a field that is a message.
func (m *message) part(field protowire.Number, part message) {
	*m = rpc.AppendMessage(*m, field, part)
}

// encode makes a message of fields of text, numbered from 1.
func encode(fields ...string) message {
	var m message
	for i, text := range fields {
		m.text(protowire.Number(i+1), text)
	}
	return m
}
