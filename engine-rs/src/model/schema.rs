//! Schemas: which variable is in which column of a mapping.

use oxrdf::Variable;

/// A variable of one query: an index into the query's table of variables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VarId(pub u16);

/// The columns of a bag of mappings, and which of them are bound in every mapping.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Schema {
    vars: Vec<VarId>,
    certain: Vec<bool>,
}

impl Schema {
    pub fn push(&mut self, var: VarId, certain: bool) {
        debug_assert!(self.column(var).is_none(), "a variable has one column");
        self.vars.push(var);
        self.certain.push(certain);
    }

    #[must_use]
    pub fn width(&self) -> usize {
        self.vars.len()
    }

    #[must_use]
    pub fn vars(&self) -> &[VarId] {
        &self.vars
    }

    #[must_use]
    pub fn column(&self, var: VarId) -> Option<usize> {
        self.vars.iter().position(|v| *v == var)
    }

    /// Whether the column is bound in every mapping, so that it can be part of a join key.
    #[must_use]
    pub fn is_certain(&self, column: usize) -> bool {
        self.certain[column]
    }

    pub fn iter(&self) -> impl Iterator<Item = (VarId, bool)> + '_ {
        self.vars.iter().copied().zip(self.certain.iter().copied())
    }
}

impl FromIterator<(VarId, bool)> for Schema {
    fn from_iter<I: IntoIterator<Item = (VarId, bool)>>(columns: I) -> Self {
        let mut schema = Self::default();
        for (var, certain) in columns {
            schema.push(var, certain);
        }
        schema
    }
}

/// The variables of one query, numbered in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub struct VarTable {
    names: Vec<Variable>,
}

impl VarTable {
    pub fn id(&mut self, variable: &Variable) -> VarId {
        if let Some(id) = self.find(variable) {
            return id;
        }
        self.names.push(variable.clone());
        VarId(u16::try_from(self.names.len() - 1).expect("the parser limits the number of variables"))
    }

    #[must_use]
    pub fn find(&self, variable: &Variable) -> Option<VarId> {
        self.names.iter().position(|v| v == variable).map(|i| VarId(i as u16))
    }

    #[must_use]
    pub fn name(&self, var: VarId) -> &Variable {
        &self.names[var.0 as usize]
    }

    /// A variable that users cannot write, for columns that the planner needs.
    pub fn fresh(&mut self) -> VarId {
        let name = format!("_whorl_{}", self.names.len());
        self.id(&Variable::new_unchecked(name))
    }
}
