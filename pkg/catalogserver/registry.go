package catalogserver

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalogserver/rpc"
)

// Registry serves a catalog by gRPC as `opm serve` does, to which the
// CatalogSources of OLM classic connect: the services api.Registry and
// api.ExperimentalRegistry, grpc.health.v1.Health, and reflection in both of its
// versions. Answers are sorted where opm's order is left to chance, and what is
// not found has the code NotFound where opm's is Unknown.
//
// A ClusterServiceVersion is in the answers of GetBundle and the like. ListBundles
// leaves it and the other objects out, as OLM wants it, unless the bundle has no
// image. Of a bundle that has only an excerpt of it in the catalog
// (olm.csv.metadata) one is made of that, which is enough to show the operator.
//
// The error lists what keeps a catalog from being served this way, such as a
// channel with two heads.
func Registry(c *catalog.Catalog) (http.Handler, error) {
	x, err := newIndex(c)
	if err != nil {
		return nil, err
	}
	r := &registry{x}
	methods := rpc.Methods{
		"/api.Registry/ListPackages":                       r.listPackages,
		"/api.Registry/GetPackage":                         r.getPackage,
		"/api.Registry/GetBundle":                          r.getBundle,
		"/api.Registry/GetBundleForChannel":                r.getBundleForChannel,
		"/api.Registry/GetChannelEntriesThatReplace":       r.getChannelEntriesThatReplace,
		"/api.Registry/GetBundleThatReplaces":              r.getBundleThatReplaces,
		"/api.Registry/GetChannelEntriesThatProvide":       r.getChannelEntriesThatProvide,
		"/api.Registry/GetLatestChannelEntriesThatProvide": r.getLatestChannelEntriesThatProvide,
		"/api.Registry/GetDefaultBundleThatProvides":       r.getDefaultBundleThatProvides,
		"/api.Registry/ListBundles":                        r.listBundles,

		"/api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas": r.listOthers,
	}
	health, healthFile := rpc.Health(methods.Services()...)
	reflection, err := rpc.Reflect([]rpc.File{registryFile(), healthFile}, structpb.File_google_protobuf_struct_proto)
	if err != nil {
		return nil, err
	}
	maps.Copy(methods, health)
	maps.Copy(methods, reflection)
	return &rpc.Server{Methods: methods}, nil
}

// A registry is the state of the handler of Registry.
type registry struct {
	*index
}

// request reads the caller's only message.
func request(call *rpc.Call) (rpc.Fields, error) {
	text, err := call.Request()
	if err != nil {
		return nil, err
	}
	return rpc.ParseFields(text)
}

// pkg finds a package.
func (r *registry) pkg(name string) (*indexed, error) {
	if pkg, ok := r.byName[name]; ok {
		return pkg, nil
	}
	return nil, rpc.Errorf(rpc.NotFound, "package %q not found", name)
}

// channel finds a channel.
func (r *registry) channel(pkgName, name string) (*channel, error) {
	pkg, err := r.pkg(pkgName)
	if err != nil {
		return nil, err
	}
	if channel, ok := pkg.channels[name]; ok {
		return channel, nil
	}
	return nil, rpc.Errorf(rpc.NotFound, "package %q, channel %q not found", pkgName, name)
}

// send sends a bundle with everything but its edges, as opm does for single
// bundles.
func send(call *rpc.Call, at place) error {
	m, err := bundleMessage(at, extent{manifests: true})
	if err != nil {
		return rpc.Errorf(rpc.Internal, "%w", err)
	}
	return call.Send(m)
}

func (r *registry) listPackages(ctx context.Context, call *rpc.Call) error {
	if _, err := request(call); err != nil {
		return err
	}
	for _, p := range r.packages {
		if err := cmp.Or(ctx.Err(), call.Send(encode(p.Name))); err != nil {
			return err
		}
	}
	return nil
}

func (r *registry) getPackage(_ context.Context, call *rpc.Call) error {
	asked, err := request(call)
	if err != nil {
		return err
	}
	pkg, err := r.pkg(asked[1])
	if err != nil {
		return err
	}
	m := encode(pkg.Name)
	for _, c := range pkg.sorted {
		part := encode(c.Name, c.head)
		if text, ok := pkg.deprecations[deprecated{catalog.SchemaChannel, c.Name}]; ok {
			part.part(3, encode(text))
		}
		m.part(2, part)
	}
	m.text(3, pkg.DefaultChannel)
	if text, ok := pkg.deprecations[deprecated{catalog.SchemaPackage, ""}]; ok {
		m.part(4, encode(text))
	}
	return call.Send(m)
}

func (r *registry) getBundle(_ context.Context, call *rpc.Call) error {
	asked, err := request(call)
	if err != nil {
		return err
	}
	channel, err := r.channel(asked[1], asked[2])
	if err != nil {
		return err
	}
	at, ok := channel.entries[asked[3]]
	if !ok {
		return rpc.Errorf(rpc.NotFound, "package %q, channel %q, bundle %q not found", asked[1], asked[2], asked[3])
	}
	return send(call, at)
}

func (r *registry) getBundleForChannel(_ context.Context, call *rpc.Call) error {
	asked, err := request(call)
	if err != nil {
		return err
	}
	channel, err := r.channel(asked[1], asked[2])
	if err != nil {
		return err
	}
	return send(call, channel.entries[channel.head])
}

// getBundleThatReplaces prefers the bundle that replaces the other to those that
// skip it.
func (r *registry) getBundleThatReplaces(_ context.Context, call *rpc.Call) error {
	asked, err := request(call)
	if err != nil {
		return err
	}
	name := asked[1]
	channel, err := r.channel(asked[2], asked[3])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(channel.sorted, func(at place) bool { return at.entry.Replaces == name })
	if i < 0 {
		i = slices.IndexFunc(channel.sorted, func(at place) bool { return at.replaces(name) })
	}
	if i < 0 || name == "" {
		return rpc.Errorf(rpc.NotFound, "no entry found for package %q, channel %q that replaces %q", asked[2], asked[3], name)
	}
	return send(call, channel.sorted[i])
}

// listBundles sends every entry of every channel. It is what OLM resolves from.
func (r *registry) listBundles(ctx context.Context, call *rpc.Call) error {
	if _, err := request(call); err != nil {
		return err
	}
	for _, p := range r.packages {
		for _, c := range p.sorted {
			for _, at := range c.sorted {
				if err := ctx.Err(); err != nil {
					return err
				}
				m, err := bundleMessage(at, extent{edges: true, manifests: at.bundle.Image == ""})
				if err != nil {
					return rpc.Errorf(rpc.Internal, "%w", err)
				}
				if err := call.Send(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// listOthers sends objects of a schema that OLM does not know, of one package or
// of none. As in opm, callers who do not acknowledge that the service is an
// experiment get nothing.
func (r *registry) listOthers(ctx context.Context, call *rpc.Call) error {
	asked, err := request(call)
	if err != nil {
		return err
	}
	if call.Metadata("X-Acknowledge-Experimental") != "true" {
		return nil
	}
	schema, name := asked[1], asked[2]
	if schema == "" {
		return rpc.Errorf(rpc.InvalidArgument, "schema is required")
	}
	objects := r.others
	if name != "" {
		objects = nil
		if pkg, ok := r.byName[name]; ok {
			objects = pkg.Others
		}
	}
	for _, o := range objects {
		if o.Schema != schema {
			continue
		}
		var text structpb.Struct
		if err := text.UnmarshalJSON(o.Raw); err != nil {
			return rpc.Errorf(rpc.Internal, "reading %s %s: %w", o.Schema, o.Name, err)
		}
		m, err := proto.MarshalOptions{Deterministic: true}.Marshal(&text)
		if err != nil {
			return rpc.Errorf(rpc.Internal, "writing %s %s: %w", o.Schema, o.Name, err)
		}
		if err := cmp.Or(ctx.Err(), call.Send(m)); err != nil {
			return err
		}
	}
	return nil
}
