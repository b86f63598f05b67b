package pages

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Module is what the Go files of a module declare.
type Module struct {
	// Locks are the mutexes that files declare, but for tests.
	Locks []Lock

	files   map[string]names // by path from the root, with slashes; tests, too
	dirs    map[string]names // by folder
	byName  map[string][]string
	code    names // folders of files that are no tests
	members names
}

// A Lock is a mutex that a type has as a field, or a function as a variable.
type Lock struct {
	Folder string // of the package
	Name   string // Type.field or Function.variable
}

// names are declared names: Name of a package, Type.Name of a method or field, and Function.name of
// a mutex that is a variable of a function.
type names map[string]bool

// Load parses the Go files of the module whose root folder is given, but for those in testdata.
func Load(root string) (*Module, error) {
	m := &Module{files: map[string]names{}, dirs: map[string]names{}, byName: map[string][]string{}, members: names{}, code: names{}}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git") {
			return filepath.SkipDir
		}
		if e.IsDir() || filepath.Ext(name) != ".go" {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		m.add(filepath.ToSlash(rel), f)
		return nil
	})
	if err == nil && len(m.files) == 0 {
		err = errors.New("no Go files")
	}
	return m, err
}

func (m *Module) add(name string, f *ast.File) {
	ns, dir := names{}, path.Dir(name)
	declared(f, ns)
	if !strings.HasSuffix(name, "_test.go") {
		for _, l := range locks(f) {
			m.Locks = append(m.Locks, Lock{Folder: dir, Name: l})
			ns[l] = true
		}
	}
	m.files[name] = ns
	if !strings.HasSuffix(name, "_test.go") {
		m.code[dir] = true
	}
	if m.dirs[dir] == nil {
		m.dirs[dir] = names{}
		if pkg := f.Name.Name; pkg != "main" {
			pkg = strings.TrimSuffix(pkg, "_test")
			m.byName[pkg] = append(m.byName[pkg], dir)
		}
	}
	for n := range ns {
		m.dirs[dir][n] = true
		if _, member, ok := strings.Cut(n, "."); ok {
			m.members[member] = true
		}
	}
}

// declared collects the names that a file declares.
func declared(f *ast.File, ns names) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				ns[d.Name.Name] = true
				continue
			}
			ns[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						ns[n.Name] = true
					}
				case *ast.TypeSpec:
					ns[s.Name.Name] = true
					for _, n := range members(s.Type) {
						ns[s.Name.Name+"."+n] = true
					}
				}
			}
		}
	}
}

// receiver returns the name of the type that a method is of.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// members returns the names of the fields of a struct or the methods of an interface.
func members(t ast.Expr) (all []string) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			all = append(all, n.Name)
		}
	}
	return all
}

// locks returns the mutexes that a file declares.
func locks(f *ast.File) (all []string) {
	for _, d := range f.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			of, list := "", []*ast.Field(nil)
			switch n := n.(type) {
			case *ast.TypeSpec:
				if t, ok := n.Type.(*ast.StructType); ok {
					of, list = n.Name.Name, t.Fields.List
				}
			case *ast.ValueSpec:
				list = []*ast.Field{{Names: n.Names, Type: n.Type}}
				if fn, ok := d.(*ast.FuncDecl); ok {
					of = fn.Name.Name
				}
			}
			for _, f := range list {
				if !isMutex(f.Type) {
					continue
				}
				if len(f.Names) == 0 { // embedded
					all = append(all, of+"."+f.Type.(*ast.SelectorExpr).Sel.Name)
				}
				for _, name := range f.Names {
					all = append(all, strings.TrimPrefix(of+"."+name.Name, "."))
				}
			}
			return true
		})
	}
	return all
}

func isMutex(t ast.Expr) bool {
	s, ok := t.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "sync" && (s.Sel.Name == "Mutex" || s.Sel.Name == "RWMutex")
}

// Packages returns the folders of all packages, but for those that consist of tests.
func (m *Module) Packages() []string { return slices.Sorted(maps.Keys(m.code)) }

// HasFile says whether the module has a Go file of this path.
func (m *Module) HasFile(name string) bool { return m.files[name] != nil }

// InFile says whether a Go file declares a name: Name, or Type.Name.
func (m *Module) InFile(file, name string) bool { return m.files[file][name] }

// InFolder says whether a folder is a package and declares a name.
func (m *Module) InFolder(dir, name string) (isPackage, declares bool) {
	ns := m.dirs[dir]
	return ns != nil, ns[name]
}

// InPackage says whether there is a package of this name, and whether it declares a name.
func (m *Module) InPackage(pkg, name string) (isPackage, declares bool) {
	for _, dir := range m.byName[pkg] {
		declares = declares || m.dirs[dir][name]
	}
	return len(m.byName[pkg]) > 0, declares
}

// Anywhere says whether any package declares a name.
func (m *Module) Anywhere(name string) bool {
	for _, ns := range m.dirs {
		if ns[name] {
			return true
		}
	}
	return false
}

// Member says whether any type has a method or field of this name.
func (m *Module) Member(name string) bool { return m.members[name] }
