package catalogserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/httpserver/catalogserver/api"
)

// maxRequest is the maximum size of a message from a client, in bytes.
const maxRequest = 1 << 20

// Registry serves a catalog over gRPC as `opm serve` does, which the CatalogSources of OLM classic
// connect to: the services api.Registry and api.ExperimentalRegistry, grpc.health.v1.Health, and
// reflection in both of its versions. Results are sorted where opm's order is random, and the code for
// something that does not exist is NotFound where opm's is Unknown.
//
// GetBundle and similar methods return the ClusterServiceVersion. ListBundles leaves it and the other
// objects out, as OLM expects, unless the bundle has no image. If the catalog only has an excerpt of it
// (olm.csv.metadata), a ClusterServiceVersion is made from that, which is enough to show the operator.
//
// The error lists everything that prevents serving the catalog, such as a channel with two heads.
func Registry(c *catalog.Catalog) (http.Handler, error) {
	x, err := newIndex(c)
	if err != nil {
		return nil, err
	}
	r := &registry{index: x}
	mux := http.NewServeMux()
	names := []string{registryService, experimentalService, healthService}
	options := connect.WithHandlerOptions(connect.WithReadMaxBytes(maxRequest), connect.WithInterceptors(endWithServer{}))
	handle(mux, registryService, "ListPackages", connect.NewServerStreamHandler, r.listPackages, options)
	handle(mux, registryService, "GetPackage", connect.NewUnaryHandler, r.getPackage, options)
	handle(mux, registryService, "GetBundle", connect.NewUnaryHandler, r.getBundle, options)
	handle(mux, registryService, "GetBundleForChannel", connect.NewUnaryHandler, r.getBundleForChannel, options)
	handle(mux, registryService, "GetBundleThatReplaces", connect.NewUnaryHandler, r.getBundleThatReplaces, options)
	handle(mux, registryService, "ListBundles", connect.NewServerStreamHandler, r.listBundles, options)
	handle(mux, registryService, "GetChannelEntriesThatReplace", connect.NewServerStreamHandler, r.getChannelEntriesThatReplace, options)
	handle(mux, registryService, "GetChannelEntriesThatProvide", connect.NewServerStreamHandler, r.getChannelEntriesThatProvide, options)
	handle(mux, registryService, "GetLatestChannelEntriesThatProvide", connect.NewServerStreamHandler, r.getLatestChannelEntriesThatProvide, options)
	handle(mux, registryService, "GetDefaultBundleThatProvides", connect.NewUnaryHandler, r.getDefaultBundleThatProvides, options)
	handle(mux, experimentalService, "ExperimentalListPackageCustomSchemas", connect.NewServerStreamHandler, r.listCustomSchemas, options)
	healthy(names).handle(mux, options)
	reflection(names).handle(mux, options)
	return onlyHTTP2(mux), nil
}

// onlyHTTP2 refuses HTTP/1.1, which cannot carry the trailers of gRPC.
func onlyHTTP2(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor < 2 {
			http.Error(w, "gRPC requires HTTP/2", http.StatusHTTPVersionNotSupported)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// The services of a catalog.
const (
	registryService     = "api.Registry"
	experimentalService = "api.ExperimentalRegistry"
)

// handle adds a method of a service, whose handler newHandler makes of f.
func handle[F any](mux *http.ServeMux, service, method string, newHandler func(string, F, ...connect.HandlerOption) *connect.Handler, f F, options connect.HandlerOption) {
	procedure := "/" + service + "/" + method
	mux.Handle(procedure, newHandler(procedure, f, options))
}

// endWithServer ends streams when the server stops, with the code Unavailable.
type endWithServer struct{}

// WrapUnary implements connect.Interceptor.
func (endWithServer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingClient implements connect.Interceptor.
func (endWithServer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (endWithServer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, stream connect.StreamingHandlerConn) error {
		err := next(ctx, stream)
		if errors.Is(context.Cause(ctx), errStopping) {
			return connect.NewError(connect.CodeUnavailable, errStopping)
		}
		return err
	}
}

// A registry implements the services for one catalog.
type registry struct{ *index }

// notFound returns the error for something that the catalog does not have.
func notFound(format string, args ...any) error {
	return connect.NewError(connect.CodeNotFound, fmt.Errorf(format, args...))
}

// pkg returns a package.
func (r *registry) pkg(name string) (*indexedPackage, error) {
	if pkg, ok := r.byName[name]; ok {
		return pkg, nil
	}
	return nil, notFound("package %q not found", name)
}

// channel returns a channel.
func (r *registry) channel(pkgName, name string) (*indexedChannel, error) {
	pkg, err := r.pkg(pkgName)
	if err != nil {
		return nil, err
	}
	if channel, ok := pkg.channels[name]; ok {
		return channel, nil
	}
	return nil, notFound("package %q, channel %q not found", pkgName, name)
}

// single returns a bundle with everything but its edges, as opm does for single bundles.
func single(e channelEntry) (*connect.Response[api.Bundle], error) {
	m, err := bundleMessage(e, extent{manifests: true})
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return connect.NewResponse(m), nil
}

// listPackages implements the method ListPackages.
func (r *registry) listPackages(_ context.Context, _ *connect.Request[api.ListPackageRequest], stream *connect.ServerStream[api.PackageName]) error {
	for _, p := range r.packages {
		if err := stream.Send(&api.PackageName{Name: p.Name}); err != nil {
			return err
		}
	}
	return nil
}

// getPackage implements the method GetPackage.
func (r *registry) getPackage(_ context.Context, req *connect.Request[api.GetPackageRequest]) (*connect.Response[api.Package], error) {
	pkg, err := r.pkg(req.Msg.GetName())
	if err != nil {
		return nil, err
	}
	m := &api.Package{
		Name: pkg.Name, DefaultChannelName: pkg.DefaultChannel,
		Deprecation: pkg.deprecation(catalog.SchemaPackage, ""),
	}
	for _, c := range pkg.sorted {
		m.Channels = append(m.Channels, &api.Channel{
			Name: c.Name, CsvName: c.head,
			Deprecation: pkg.deprecation(catalog.SchemaChannel, c.Name),
		})
	}
	return connect.NewResponse(m), nil
}

// getBundle implements the method GetBundle.
func (r *registry) getBundle(_ context.Context, req *connect.Request[api.GetBundleRequest]) (*connect.Response[api.Bundle], error) {
	channel, err := r.channel(req.Msg.GetPkgName(), req.Msg.GetChannelName())
	if err != nil {
		return nil, err
	}
	e, ok := channel.entries[req.Msg.GetCsvName()]
	if !ok {
		return nil, notFound("package %q, channel %q, bundle %q not found", req.Msg.GetPkgName(), req.Msg.GetChannelName(), req.Msg.GetCsvName())
	}
	return single(e)
}

// getBundleForChannel implements the method GetBundleForChannel: it returns the head of a channel.
func (r *registry) getBundleForChannel(_ context.Context, req *connect.Request[api.GetBundleInChannelRequest]) (*connect.Response[api.Bundle], error) {
	channel, err := r.channel(req.Msg.GetPkgName(), req.Msg.GetChannelName())
	if err != nil {
		return nil, err
	}
	return single(channel.entries[channel.head])
}

// getBundleThatReplaces implements the method GetBundleThatReplaces. It prefers the bundle that replaces the other
// one to those that skip it.
func (r *registry) getBundleThatReplaces(_ context.Context, req *connect.Request[api.GetReplacementRequest]) (*connect.Response[api.Bundle], error) {
	name := req.Msg.GetCsvName()
	channel, err := r.channel(req.Msg.GetPkgName(), req.Msg.GetChannelName())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(channel.sorted, func(e channelEntry) bool { return e.entry.Replaces == name })
	if i < 0 {
		i = slices.IndexFunc(channel.sorted, func(e channelEntry) bool { return e.replaces(name) })
	}
	if i < 0 || name == "" {
		return nil, notFound("no entry found for package %q, channel %q that replaces %q", req.Msg.GetPkgName(), req.Msg.GetChannelName(), name)
	}
	return single(channel.sorted[i])
}

// listBundles implements the method ListBundles: it sends every entry of every channel, which is what OLM
// resolves from.
func (r *registry) listBundles(_ context.Context, _ *connect.Request[api.ListBundlesRequest], stream *connect.ServerStream[api.Bundle]) error {
	for _, p := range r.packages {
		for _, c := range p.sorted {
			for _, e := range c.sorted {
				m, err := bundleMessage(e, extent{edges: true, manifests: e.bundle.Image == ""})
				if err != nil {
					return connect.NewError(connect.CodeInternal, err)
				}
				if err := stream.Send(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// listCustomSchemas implements the method ExperimentalListPackageCustomSchemas: it sends the objects
// of a schema that OLM does not know, those of one package or those without package. As in opm,
// callers who do not acknowledge that the service is experimental get nothing.
func (r *registry) listCustomSchemas(ctx context.Context, req *connect.Request[api.ExperimentalListPackageCustomSchemasRequest], stream *connect.ServerStream[structpb.Struct]) error {
	if !slices.Contains(req.Header().Values("X-Acknowledge-Experimental"), "true") {
		return nil
	}
	if req.Msg.GetSchema() == "" {
		return connect.NewError(connect.CodeInvalidArgument, errors.New("schema is required"))
	}
	objects := r.others
	if req.Msg.GetPackageName() != "" {
		objects = nil
		if pkg, ok := r.byName[req.Msg.GetPackageName()]; ok {
			objects = pkg.Others
		}
	}
	for _, o := range objects {
		if o.Schema != req.Msg.GetSchema() {
			continue
		}
		m := &structpb.Struct{}
		if err := cmp.Or(m.UnmarshalJSON(o.Raw), ctx.Err()); err != nil {
			return connect.NewError(connect.CodeInternal, fmt.Errorf("reading %s %s: %w", o.Schema, o.Name, err))
		}
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}
