//! What provisioners will be given, looked at while planning: nothing of it is shown or kept but what it rests on, so that
//! a deploy runs what was staged.

use super::*;
use crate::engine::deploy::provision;
use crate::engine::stage::sights::Sights;
use lang::config::Provisioner;
use lang::diag::Said;

impl PlanWalk<'_> {
    /// Looks at the provisioners of an instance that is created, with the planned object as `self`.
    pub(super) fn creation_rests_on(&self, declared: &Declared<'_>, scope: &ModuleScope<'_>, planned: &Planned) -> Result<(), ()> {
        if !matches!(planned.action, Action::Create | Action::Replace | Action::ReplaceCreateFirst) {
            return Ok(());
        }
        let all = declared.resource.provisioners.iter().filter(|p| !p.on_destroy);
        self.rests_on(declared.module, scope.instance, &scope.repetition, &planned.after, all)
    }

    /// The same for those of an object that is destroyed.
    pub(super) fn destruction_rests_on(&self, address: &AbsInstance, before: &Value) -> Result<(), ()> {
        let declared = self.walk.module(&address.module.path());
        let (module, all) = match declared.and_then(|m| Some((m, &m.resources.get(&address.resource)?.provisioners))) {
            Some(found) => found,
            None => match removed(&self.walk.around.root, address) {
                Some((module, removed)) => (module, &removed.provisioners),
                None => return Ok(()),
            },
        };
        let within = ModuleInstance(address.module.0[..module.path.0.len()].to_vec());
        self.rests_on(module, &within, &repetition(&address.key), before, all.iter().filter(|p| p.on_destroy))
    }

    fn rests_on<'a>(
        &self,
        module: &Module,
        instance: &ModuleInstance,
        repetition: &Repetition,
        object: &Value,
        provisioners: impl Iterator<Item = &'a Provisioner>,
    ) -> Result<(), ()> {
        for provisioner in provisioners {
            let sights = Sights::default();
            let scope = ModuleScope {
                self_value: Some(object.clone()),
                sights: Some(&sights),
                ..ModuleScope::new(&self.walk.around, module, instance).repeated(repetition.clone())
            };
            // What cannot be worked out yet may well be when its turn has come, and rests on nothing so far.
            if provision::validate(&scope, provisioner).has_errors() {
                continue;
            }
            drop(scope);
            if let Err(text) = self.walk.around.sights.take(sights) {
                self.walk.report(Diagnostic::error("Something has changed meanwhile", Said::plain(text)).at(provisioner.span).into());
                return Err(());
            }
        }
        Ok(())
    }
}
